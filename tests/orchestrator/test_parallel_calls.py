"""Of many calls in one turn few are out at once; the others follow, in order, as those come back."""

from collections.abc import Iterator

import pytest
from tests.conversation_steps import NOW, asks, awaiting_model, finished, make_spec, run_python
from tests.orchestrator.driver_parts import Place

from skillfleet.conversations.engine import step, wanted
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    CancelRequested,
    CancelTool,
    Effect,
    Event,
    Paused,
    Resumed,
    RunTool,
    TimeShort,
)
from skillfleet.conversations.schedule import Sight, next_due, observe

MANY = 7


def moved(conversation: Conversation, *events: Event) -> tuple[Conversation, list[str]]:
    """With at most three out at once; and the calls that the last event sends."""
    effects: list[Effect] = []
    for event in events:
        conversation, effects = step(conversation, event, NOW, 3)
    return conversation, [effect.run.key for effect in effects if isinstance(effect, RunTool)]


def calling() -> tuple[Conversation, list[str]]:
    return moved(awaiting_model(), asks(*(run_python(f"id{number}") for number in range(MANY))))


def test_few_are_sent_at_once_and_each_that_comes_back_lets_the_next_one_go() -> None:
    conversation, sent = calling()
    assert sent == ["1.0", "1.1", "1.2"]
    assert len(conversation.out) == MANY
    assert [run.key for run in conversation.with_workers] == sent
    conversation, sent = moved(conversation, finished("1.1"))
    assert sent == ["1.3"]
    conversation, sent = moved(conversation, *(finished(f"1.{index}") for index in (0, 2, 3, 4, 5)))
    assert (sent, [run.key for run in conversation.out]) == ([], ["1.6"])
    conversation, _ = moved(conversation, finished("1.6"))
    assert [message.tool_call_id for message in conversation.messages[-MANY:]] == [f"id{n}" for n in range(MANY)]


def test_while_it_is_paused_none_follows() -> None:
    conversation, sent = moved(calling()[0], Paused(), finished("1.0"))
    assert sent == []
    assert moved(conversation, Resumed())[1] == ["1.3"]


def test_what_was_never_sent_is_answered_as_cancelled() -> None:
    conversation, _ = moved(calling()[0], CancelRequested())
    assert [run.status for run in conversation.runs] == ["cancelled"] * MANY


def test_what_waits_to_be_sent_is_not_looked_for() -> None:
    conversation, _ = calling()
    assert observe(conversation, {}, Sight(NOW + 300)) == []
    paused, _ = moved(conversation, Paused())
    looked_for = [event.key for event in observe(paused, {}, Sight(NOW)) if hasattr(event, "key")]
    assert looked_for == ["1.0", "1.1", "1.2"]
    assert (next_due(conversation, {}, Sight(NOW)) or 0) > NOW


def test_a_call_that_is_sent_and_stopped_in_one_look_is_not_sent() -> None:
    conversation, effects = calling()[0], []
    for event in (finished("1.0"), TimeShort()):
        conversation, more = step(conversation, event, NOW, 3)
        effects += more
    left = wanted(conversation, effects)
    assert not any(isinstance(effect, RunTool) for effect in left)
    assert sum(isinstance(effect, CancelTool) for effect in left) == MANY - 1


@pytest.fixture
def place() -> Iterator[Place]:
    here = Place()
    with here.working():
        yield here


def test_fifty_calls_of_one_turn_are_all_made(place: Place) -> None:
    calls = [{"tool": "get_skill", "arguments": {"skill_name": f"s{number}"}} for number in range(50)]
    script = {"replies": [{"calls": calls}, {"text": "done"}]}
    place.ledger.submit(make_spec().model_copy(update={"script": script}))
    with place.driving():
        ended = place.ended()
    assert ended.status == "completed"
    assert [ref.key for ref in place.workers.sent] == [f"1.{index}" for index in range(50)]
