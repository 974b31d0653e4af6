"""When a conversation is looked at next, and what a look finds."""

from dataclasses import replace

import pytest
from tests.conversation_steps import (
    NOW,
    after,
    awaiting_calls,
    awaiting_model,
    list_skills,
    queued,
    run_python,
    says,
)

from skillfleet.conversations.driver import IDLE_S
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    BackoffOver,
    CancelRequested,
    DeadlinePassed,
    Event,
    Submitted,
    TimeShort,
    ToolFailed,
    ToolFinished,
    ToolLost,
    ToolUnstarted,
)
from skillfleet.conversations.schedule import (
    LEAST_ROOM,
    LOST_AFTER_S,
    OVERTAKEN_S,
    PLACED_LOOK_S,
    RESEND_AFTER_S,
    RESEND_CAP_S,
    SOONEST_LOOK_S,
    WAITING_LOOK_S,
    WORKER_LOOK_S,
    WORKER_WAIT_S,
    Records,
    Sight,
    lease_s,
    lost_after_s,
    next_due,
    observe,
    room_for,
)
from skillfleet_workers.heartbeat import EVERY_S
from skillfleet_workers.wire.calls import CallRecord, CallResult
from skillfleet_workers.wire.contract import Governing, UsedSkill

DONE = CallResult(status="succeeded", shown="[]", worker="w1", runtime="process", ms=2.5)
FINISHED = ToolFinished("1.0", "succeeded", "[]", "w1", "process", 2.5, attempt=1)
LATER = NOW + 5


def started(beat_at: float = NOW, attempt: int = 1, result: CallResult | None = None) -> CallRecord:
    return CallRecord(attempt, beat_at, "w1", result)


def placed(at: float = NOW) -> CallRecord:
    """It has a place in the tool queue, and nobody has started it."""
    return CallRecord(0, 0.0, "", None, sent_at=at)


def seen(
    conversation: Conversation,
    records: Records,
    *,
    now: float = NOW,
    cancel: bool = False,
    queue_empty: bool = False,
    overtaken_at: float = 0.0,
) -> list[Event]:
    return observe(
        conversation,
        records,
        Sight(now, cancel, empty_queues={""} if queue_empty else (), overtaken_at={"": overtaken_at}),
    )


def test_a_queued_conversation_begins() -> None:
    assert seen(queued(), {}) == [Submitted()]


def test_what_came_in_counts_before_the_end() -> None:
    late = NOW + 1000
    events = seen(awaiting_calls(list_skills()), {"1.0": started(result=DONE)}, cancel=True, now=late)
    assert events == [FINISHED, CancelRequested(), DeadlinePassed()]


def test_the_deadline_counts_from_acceptance() -> None:
    conversation = awaiting_model(timeout_s=90)
    assert seen(conversation, {}, now=NOW + 71.9) == []
    assert seen(conversation, {}, now=NOW + 72.1) == seen(conversation, {}, now=NOW + 89.9) == [TimeShort()]
    assert seen(conversation, {}, now=NOW + 90) == [DeadlinePassed()]


def test_the_result_of_an_earlier_attempt_is_a_result() -> None:
    second = after(awaiting_calls(list_skills()), ToolLost("1.0"))
    assert seen(second, {"1.0": started(attempt=1, result=DONE)}) == [FINISHED]


def test_a_started_call_is_lost_when_its_worker_has_been_silent_for_long() -> None:
    calling = awaiting_calls(list_skills())
    silent = {"1.0": started(beat_at=NOW)}
    assert seen(calling, silent, now=NOW + LOST_AFTER_S - 0.1, queue_empty=True) == []
    assert seen(calling, silent, now=NOW + LOST_AFTER_S) == [ToolLost("1.0")]


def test_a_call_that_nobody_started_is_sent_again_when_its_queue_is_empty() -> None:
    calling = awaiting_calls(list_skills())
    sent = {"1.0": placed()}
    assert seen(calling, sent, now=NOW + RESEND_AFTER_S - 0.1, queue_empty=True) == []
    assert seen(calling, sent, now=NOW + RESEND_AFTER_S, queue_empty=True) == [ToolUnstarted("1.0")]


def test_a_call_that_waits_for_its_turn_is_not_sent_again() -> None:
    calling = awaiting_calls(list_skills(), timeout_s=7 * 86400)
    assert seen(calling, {}, now=NOW + 86400, queue_empty=True, overtaken_at=NOW + 86400) == []


def test_a_call_that_was_overtaken_is_sent_again_though_its_queue_is_not_empty() -> None:
    calling, sent = awaiting_calls(list_skills()), {"1.0": placed()}
    later = NOW + RESEND_AFTER_S + OVERTAKEN_S
    assert seen(calling, sent, now=later, overtaken_at=NOW + OVERTAKEN_S) == []
    assert seen(calling, sent, now=later, overtaken_at=NOW + OVERTAKEN_S + 0.1) == [ToolUnstarted("1.0")]


def test_a_call_that_may_still_wait_in_its_queue_is_sent_again_much_later() -> None:
    calling = awaiting_calls(list_skills())
    sent = {"1.0": placed()}
    assert seen(calling, sent, now=NOW + RESEND_CAP_S - 0.1) == []
    assert seen(calling, sent, now=NOW + RESEND_CAP_S) == [ToolUnstarted("1.0")]


def test_a_failure_is_found_once_and_its_next_attempt_waits_for_its_time_and_then_for_its_own_start() -> None:
    failed = {"1.0": replace(started(), failed=1, failures=2)}
    calling = awaiting_calls(list_skills())
    assert seen(calling, failed, now=LATER + LOST_AFTER_S) == [ToolFailed("1.0", 2)]
    resting = after(calling, ToolFailed("1.0", 2), now=NOW)
    at = next_due(resting, failed, Sight(NOW))
    assert at is not None and at == pytest.approx(NOW + 0.2)
    assert seen(resting, failed, now=NOW + 0.1, queue_empty=True) == []
    assert seen(resting, failed, now=at, queue_empty=True) == [BackoffOver("1.0")]
    second = after(resting, BackoffOver("1.0"), now=NOW)
    assert seen(second, failed, now=NOW + 1, queue_empty=True) == []


def test_a_lost_call_is_told_with_what_its_worker_had_said_of_it() -> None:
    silent = {"1.0": replace(started(), effects="idempotent")}
    assert seen(awaiting_calls(list_skills()), silent, now=NOW + LOST_AFTER_S) == [ToolLost("1.0", "idempotent")]


def test_a_lost_attempt_that_was_sent_again_waits_for_its_own_start() -> None:
    second = after(awaiting_calls(list_skills()), ToolLost("1.0"), now=NOW)
    stale = {"1.0": replace(started(beat_at=NOW - 100), sent_at=NOW)}
    assert seen(second, stale, now=NOW + 1, queue_empty=True) == []
    assert seen(second, stale, now=NOW + RESEND_AFTER_S, queue_empty=True) == [ToolUnstarted("1.0")]


@pytest.mark.parametrize("queue_empty", [True, False])
def test_copies_are_sent_later_and_later(queue_empty: bool) -> None:
    conversation, now, waits = awaiting_calls(list_skills(), timeout_s=7 * 86400), NOW, []
    for _ in range(8):
        sent_at = conversation.out[0].sent_at
        while not (events := seen(conversation, {"1.0": placed(sent_at)}, now=now, queue_empty=queue_empty)):
            now += 1
        waits.append(now - sent_at)
        conversation = after(conversation, *events, now=now)
    assert waits == sorted(waits)
    assert waits[0] < waits[3]
    assert not queue_empty or waits[-1] == PLACED_LOOK_S


def test_each_call_is_looked_at_for_itself() -> None:
    calling = awaiting_calls(list_skills("a"), run_python("b"), list_skills("c"), list_skills("d"))
    records = {"1.0": started(result=DONE), "1.1": started(beat_at=NOW - 100), "1.2": started(beat_at=LATER)}
    records["1.3"] = placed()
    assert seen(calling, records, now=LATER, queue_empty=True) == [FINISHED, ToolLost("1.1"), ToolUnstarted("1.3")]


def test_results_of_earlier_turns_are_old_news() -> None:
    calling = after(awaiting_calls(list_skills()), FINISHED)
    assert seen(calling, {"1.0": started(result=DONE)}, now=LATER) == []


def test_an_ended_conversation_is_never_due() -> None:
    assert next_due(after(awaiting_model(), says("42")), {}, Sight(NOW)) is None


def test_a_conversation_with_nothing_out_is_due_now() -> None:
    assert next_due(awaiting_model(), {}, Sight(NOW)) == NOW


def test_a_running_call_is_looked_at_when_it_could_be_lost() -> None:
    calling = awaiting_calls(list_skills())
    assert next_due(calling, {"1.0": started(beat_at=NOW)}, Sight(NOW)) == NOW + LOST_AFTER_S


def test_a_call_that_has_not_started_is_looked_at_when_it_could_be_sent_again() -> None:
    calling = awaiting_calls(list_skills())
    assert next_due(calling, {"1.0": placed()}, Sight(NOW)) == NOW + RESEND_AFTER_S
    assert next_due(calling, {}, Sight(NOW)) == NOW + WAITING_LOOK_S


def test_the_earliest_look_holds_and_none_is_in_the_past() -> None:
    calling = awaiting_calls(list_skills("a"), list_skills("b"))
    long_silent = {"1.0": started(beat_at=NOW - 100)}
    assert next_due(calling, long_silent, Sight(NOW + 50)) == NOW + 50 + SOONEST_LOOK_S


def test_a_call_in_a_long_queue_is_looked_at_more_and_more_seldom() -> None:
    calling = awaiting_calls(list_skills("a"))
    waits = [(next_due(calling, {}, Sight(NOW + waited)) or 0) - NOW - waited for waited in (2, 20, 200)]
    assert waits == [WAITING_LOOK_S, WAITING_LOOK_S, 100]


def test_a_call_that_has_a_place_is_looked_at_every_few_seconds() -> None:
    calling, sent = awaiting_calls(list_skills("a")), {"1.0": placed()}
    waits = [(next_due(calling, sent, Sight(NOW + waited)) or 0) - NOW - waited for waited in (2, 8, 200)]
    assert waits == [RESEND_AFTER_S, 4, PLACED_LOOK_S]


def test_a_call_that_proves_its_life_is_looked_at_when_it_would_be_lost() -> None:
    calling = awaiting_calls(list_skills("a"))
    assert next_due(calling, {"1.0": started(beat_at=NOW + 3)}, Sight(NOW + 4)) == NOW + 3 + LOST_AFTER_S


def test_nothing_is_looked_at_after_the_deadline() -> None:
    calling = awaiting_calls(list_skills(), timeout_s=1)
    assert next_due(calling, {}, Sight(NOW)) == NOW + 1


def test_silence_while_redis_was_out_of_reach_proves_nothing() -> None:
    calling = awaiting_calls(list_skills("a"))
    silent = {"1.0": started(beat_at=NOW)}
    later = NOW + 60
    alone = Sight(later, empty_queues={""})
    assert observe(calling, silent, alone) == [ToolLost("1.0")]
    assert observe(calling, silent, replace(alone, listening_since=later - 1)) == []
    assert next_due(calling, silent, Sight(later, listening_since=later - 1)) == later - 1 + LOST_AFTER_S


@pytest.mark.parametrize("recovery_s", [3, 10, 60])
def test_what_died_is_missed_in_time_and_what_lives_may_miss_a_sign_of_life(recovery_s: float) -> None:
    lease, lost_after = lease_s(recovery_s), lost_after_s(recovery_s)
    assert max(lease, lost_after) < recovery_s
    assert recovery_s < 10 or max(lease, lost_after) + IDLE_S < recovery_s
    assert lost_after > 2 * EVERY_S


def test_the_tool_queue_is_short_and_deeper_where_calls_are_quick() -> None:
    assert [room_for(slots, 10.0) for slots in (0, 1, 2, 50)] == [LEAST_ROOM, LEAST_ROOM, 4, 100]
    assert [room_for(10, call_s) for call_s in (0.0, 0.001, 0.05, 0.125, 1.0)] == [80, 80, 50, 20, 20]


def test_a_young_conversation_waits_for_the_first_worker_and_is_looked_at_soon() -> None:
    nobody = Sight(NOW + WORKER_WAIT_S - 0.1, snapshot=None)
    assert observe(queued(), {}, nobody) == []
    assert next_due(queued(), {}, nobody) == nobody.now + WORKER_LOOK_S
    assert observe(queued(), {}, replace(nobody, cancel=True)) == [CancelRequested()]
    assert observe(queued(), {}, replace(nobody, now=NOW + WORKER_WAIT_S)) == [Submitted()]
    assert observe(queued(), {}, replace(nobody, snapshot="s1")) == [Submitted("s1")]


def test_what_a_call_used_and_activated_is_passed_on() -> None:
    used, skill = UsedSkill(name="pdf", version="1.0.0", digest="d"), Governing(skill="pdf", model="better")
    record = started(result=DONE.model_copy(update={"used": used, "governing": skill}))
    (event,) = observe(awaiting_calls(list_skills()), {"1.0": record}, Sight(NOW))
    assert event == replace(FINISHED, used=used, governing=skill)
