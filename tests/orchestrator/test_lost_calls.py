"""The engine: calls whose workers died, whose scripts failed, or that nobody has started."""

import json

from tests.conversation_steps import NOW, after, awaiting_calls, finished, list_skills, run_python

from skillfleet.conversations.engine import step
from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    BackoffOver,
    CallModel,
    CancelRequested,
    Paused,
    Resumed,
    RunTool,
    ToolFailed,
    ToolFinished,
    ToolLost,
    ToolUnstarted,
)


def told_error(conversation: Conversation) -> str:
    return str(json.loads(conversation.messages[-1].content or "")["error"])


def test_a_lost_call_without_side_effects_is_started_three_times_at_most() -> None:
    conversation = awaiting_calls(list_skills())
    for attempt in range(2, MAX_STARTS + 1):
        conversation, effects = step(conversation, ToolLost("1.0"), NOW + attempt)
        (run,) = conversation.out
        assert effects == [RunTool(run)]
        assert (run.ref.attempt, run.sends, run.sent_at) == (attempt, 1, NOW + attempt)
    told, effects = step(conversation, ToolLost("1.0"), NOW + 9)
    assert effects == [CallModel()]
    assert told_error(told) == "poison_call"
    assert told.runs[0].status == "lost"
    assert [run.key for run in told.dead] == ["1.0"]


def test_a_lost_script_is_never_started_again_and_the_model_is_told() -> None:
    told, effects = step(awaiting_calls(run_python()), ToolLost("1.0"), NOW)
    assert effects == [CallModel()]
    assert told_error(told) == "worker_lost"
    assert (told.runs[0].status, told.runs[0].ref.attempt) == ("lost", 1)
    assert told.dead == told.runs


def test_what_the_worker_said_of_a_lost_call_holds_before_what_the_task_says() -> None:
    again, effects = step(awaiting_calls(run_python()), ToolLost("1.0", "idempotent"), NOW)
    assert effects == [RunTool(again.out[0])] and again.dead == ()
    told, effects = step(awaiting_calls(list_skills()), ToolLost("1.0", "unsafe"), NOW)
    assert effects == [CallModel()] and told.dead == told.runs


def test_what_the_worker_said_of_a_lost_call_is_kept_until_it_has_a_result() -> None:
    again = after(awaiting_calls(run_python()), ToolLost("1.0", "idempotent", "no sandbox"))
    assert (again.runs[0].losses, again.runs[0].said) == (1, "no sandbox")
    assert after(again, finished("1.0")).runs[0].said == ""
    silent = after(again, ToolLost("1.0", "unsafe"))
    assert (silent.runs[0].said, silent.runs[0].dead) == ("", True)
    assert "no sandbox" not in (silent.messages[-1].content or "")


def test_a_failed_script_is_sent_as_the_next_attempt_after_a_pause_and_its_losses_are_forgotten() -> None:
    once_lost = after(awaiting_calls(run_python()), ToolLost("1.0", "idempotent"))
    resting, effects = step(once_lost, ToolFailed("1.0"), NOW + 5)
    (run,) = resting.out
    assert (effects, run.ref.attempt, run.losses, run.sends) == ([], 3, 0, 0)
    again, effects = step(resting, BackoffOver("1.0"), NOW + 6)
    (run,) = again.out
    assert effects == [RunTool(run)]
    assert (run.ref.attempt, run.sends, run.sent_at) == (3, 1, NOW + 6)
    assert step(again, BackoffOver("1.0"), NOW + 7) == (again, [])
    assert step(after(once_lost, finished("1.0")), ToolFailed("1.0"), NOW)[1] == []


def test_the_pause_before_a_new_attempt_doubles_with_every_failure_up_to_half_a_minute() -> None:
    paused = awaiting_calls(run_python()).model_copy(update={"paused_s": 100.0})
    runs = [after(paused, ToolFailed("1.0", failures), now=NOW).out[0] for failures in (1, 2, 3, 9, 10)]
    waits = [round((run.retry_at or 0) + 100 - NOW, 3) for run in runs]
    assert waits == [0.1, 0.2, 0.4, 25.6, 30.0]


def test_what_backs_off_holds_no_place_is_not_sent_while_it_is_paused_and_ends_with_its_conversation() -> None:
    resting = after(awaiting_calls(run_python("a"), run_python("b")), ToolFailed("1.0"))
    assert ([run.key for run in resting.with_workers], resting.unsent) == (["1.1"], ())
    stopped = after(resting, Paused())
    assert step(stopped, BackoffOver("1.0"), NOW) == (stopped, [])
    assert [run.key for run in after(stopped, Resumed(), BackoffOver("1.0")).with_workers] == ["1.0", "1.1"]
    assert {run.status for run in after(resting, CancelRequested()).runs} == {"cancelled"}


def test_a_call_that_nobody_started_is_sent_again_as_the_same_attempt() -> None:
    calling = awaiting_calls(run_python())
    again, effects = step(calling, ToolUnstarted("1.0"), NOW + 5)
    (run,) = again.out
    assert effects == [RunTool(run)]
    assert (run.ref, run.sends, run.sent_at) == (calling.out[0].ref, 2, NOW + 5)


def test_what_a_worker_of_an_earlier_release_records_as_lost_is_a_result() -> None:
    lost = ToolFinished("1.0", "lost", "no sandbox", "w1")
    told = after(awaiting_calls(run_python()), ToolLost("1.0", "idempotent"), lost)
    assert (told.runs[0].status, told.dead) == ("lost", ())


def test_the_payload_of_a_call_is_kept_in_its_position_only_where_the_call_was_given_up() -> None:
    calling = awaiting_calls(run_python("a"), run_python("b"))
    told = after(calling, ToolLost("1.0", "unsafe"), finished("1.1"))
    assert [run.request for run in told.runs] == [calling.out[0].request, {"skill_name": "calculator"}]
    assert [run.skill for run in told.runs] == ["calculator"] * 2
