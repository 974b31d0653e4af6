"""A conversation that is paused: what the engine, the schedule and the driver make of it."""

import pytest
from tests.conversation_steps import (
    NOW,
    after,
    awaiting_calls,
    awaiting_model,
    finished,
    last_effects,
    list_skills,
    make_spec,
    queued,
    says,
)
from tests.orchestrator.driver_parts import HeldModel, Place

from skillfleet.conversations.ending import pending
from skillfleet.conversations.engine import step, wanted
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    CallModel,
    DeadlinePassed,
    Event,
    Paused,
    Resumed,
    RunTool,
    ToolLost,
    ToolUnstarted,
)
from skillfleet.conversations.schedule import LOST_AFTER_S, PAUSED_LOOK_S, Sight, next_due, observe
from skillfleet_workers.wire.calls import CallRecord
from skillfleet_workers.wire.contract import CallRef

TWO = awaiting_calls(list_skills("a"), list_skills("b"))
LONG_AGO = NOW - 10 * LOST_AFTER_S


def looks(conversation: Conversation, records: dict[str, CallRecord], *, pause: bool) -> list[Event]:
    return observe(conversation, records, Sight(NOW + 100, pause=pause, empty_queues={""}))


@pytest.mark.parametrize("conversation", [queued(), awaiting_model(), TWO], ids=["queued", "asking", "calling"])
def test_a_pause_starts_nothing_and_its_end_asks_the_model_unless_calls_are_out(conversation: Conversation) -> None:
    paused, effects = step(conversation, Paused(), NOW)
    assert (paused.status, effects, pending(paused)) == ("paused", [], [])
    resumed, effects = step(paused, Resumed(), NOW)
    assert resumed.status == "running"
    assert effects == ([] if conversation.out else [CallModel()])


def test_results_are_taken_while_paused_and_the_turn_goes_on_with_the_end_of_the_pause() -> None:
    closed, effects = step(after(TWO, Paused(), finished("1.0")), finished("1.1"), NOW)
    assert (closed.status, closed.out, effects) == ("paused", (), [])
    assert [message.role for message in closed.messages[-2:]] == ["tool", "tool"]
    assert last_effects(closed, Resumed()) == [CallModel()]


@pytest.mark.parametrize("event", [ToolUnstarted("1.0"), ToolLost("1.0")])
def test_no_call_is_sent_again_while_paused(event: Event) -> None:
    paused = after(TWO, Paused())
    assert step(paused, event, NOW) == (paused, [])
    assert last_effects(after(paused, Resumed()), event)


def test_a_pause_of_what_has_ended_changes_nothing() -> None:
    ended = after(awaiting_model(), says("42"))
    for event in (Paused(), Resumed()):
        assert step(ended, event, NOW) == (ended, [])


def test_to_resume_what_is_not_paused_changes_nothing() -> None:
    assert step(TWO, Resumed(), NOW) == (TWO, [])


def test_a_pause_is_seen_before_the_last_result_so_that_the_model_is_not_asked() -> None:
    one = awaiting_calls(list_skills())
    events = looks(one, {"1.0": CallRecord(1, NOW, "w1", None)}, pause=True)
    assert isinstance(events[0], Paused)
    effects = last_effects(one, Paused(), finished("1.0"))
    assert wanted(after(one, Paused(), finished("1.0")), effects) == []


def test_the_deadline_does_not_come_while_paused() -> None:
    late = NOW + TWO.spec.limits.timeout_s + 1
    assert DeadlinePassed() in observe(TWO, {}, Sight(late))
    assert DeadlinePassed() not in observe(TWO, {}, Sight(late, pause=True))
    rested = TWO.model_copy(update={"paused_s": 2.0})
    assert DeadlinePassed() not in observe(rested, {}, Sight(late))
    assert next_due(after(TWO, Paused()), {}, Sight(late)) == late + PAUSED_LOOK_S


def test_after_the_pause_what_never_started_is_sent_at_once_and_what_was_lost_is_found() -> None:
    paused = after(TWO, Paused())
    silent = {"1.1": CallRecord(1, LONG_AGO, "w1", None)}
    events = looks(paused, silent, pause=False)
    assert events == [Resumed(), ToolUnstarted("1.0"), ToolLost("1.1")]
    resumed = after(paused, *events)
    sent = [effect.run.key for event in events[1:] for effect in step(after(paused, Resumed()), event, NOW)[1]
            if isinstance(effect, RunTool)]  # fmt: skip
    assert (resumed.status, sent) == ("running", ["1.0", "1.1"])


def test_a_reply_that_was_on_its_way_is_kept_and_its_calls_start_after_the_pause() -> None:
    place = Place()
    script = {"replies": [{"calls": [{"tool": "list_skills"}]}, {"text": "Done."}]}
    place.ledger.submit(make_spec().model_copy(update={"script": script}))
    place.ledger.pause("c1")
    with place.driving(), place.working():
        assert [entry.type for entry in place.followed(until="paused")][-1] == "paused"
        assert place.workers.sent == []
        place.ledger.resume("c1")
        ended = place.ended()
    assert (ended.status, ended.answer) == ("completed", "Done.")
    assert place.workers.sent == [CallRef(conversation_id="c1", turn=1, index=0)]
    told = [entry.type for entry in place.followed()]
    assert [kind for kind in told if kind in ("paused", "resumed")] == ["paused", "resumed"]


def test_a_pause_does_not_throw_away_the_reply_of_a_model_that_thinks() -> None:
    place = Place()
    model = HeldModel()
    place.ledger.submit(make_spec())
    with place.driving(model):
        assert model.asked.wait(20)
        place.ledger.pause("c1")
        model.go_on.set()
        assert place.ended().answer == "42"
