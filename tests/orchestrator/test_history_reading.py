"""What events tell of executions, turns and messages, wherever the stream is cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conversation_steps import NOW, call, make_spec

from skillfleet.conversations.messages import Message, ToolCall
from skillfleet.conversations.models import Conversation
from skillfleet.events import Entry, EventType
from skillfleet.history.reading import Records, executions_of, read
from skillfleet.history.records import ExecutionStatus, SkillExecution, execution_id
from skillfleet.history.rows import message_row
from skillfleet.history.tables import messages
from skillfleet.subagents.mailbox import AgentMessage
from skillfleet.subagents.models import AgentSpec, ChainStep

SPEC = make_spec("c1").model_copy(update={"tenant": "acme", "model": "model-a"})
ARGUMENTS = {"location": "kitchen"}
DEEP = '{"a": ' * 300 + "0" + "}" * 300
MESSAGE = {
    "message_id": "7f0c1e4a-9d7b-4c80-8a55-0d1f6f1f2a11",
    "sender_id": "c1",
    "message_type": "event",
    "topic": "navigation.complete",
    "payload": {"final_position": {"x": 10}},
    "timestamp": NOW,
}


def stream(*told: tuple[EventType, dict[str, Any]]) -> list[Entry]:
    """Each a second after the one before."""
    return [Entry(seq, NOW + seq, kind, data, str(seq)) for seq, (kind, data) in enumerate(told, 1)]


def says(*calls: ToolCall, content: str | None = None) -> tuple[EventType, dict[str, Any]]:
    message = Message(role="assistant", content=content, tool_calls=calls or None)
    return "message", message.model_dump(mode="json", exclude_none=True)


def shown(call_id: str, **run: Any) -> tuple[EventType, dict[str, Any]]:
    return "message", {"role": "tool", "tool_call_id": call_id, "content": json.dumps(run)}


def runs(call_id: str = "a", **given: Any) -> ToolCall:
    return call("run_skill_script", call_id, json.dumps({"skill_name": "navigate", "script": "go", **given}))


def sent(key: str = "1.0", name: str = "run_skill_script", **more: Any) -> tuple[EventType, dict[str, Any]]:
    return "call", {"key": key, "name": name, "attempt": 1, "arguments": "", "skill": "navigate", **more}


def started(attempt: int = 1, key: str = "1.0") -> tuple[EventType, dict[str, Any]]:
    return "started", {"key": key, "attempt": attempt, "worker": f"w{attempt}"}


def came(status: str = "succeeded", tail: str = "", key: str = "1.0") -> tuple[EventType, dict[str, Any]]:
    used = {"skill": "navigate", "version": "1.2.0"}
    return "result", {"key": key, "status": status, "tail": tail, "worker": "w1", "runtime": "warm", **used}


TURN: tuple[EventType, dict[str, Any]] = ("turn", {"turn": 1})
WHOLE = stream(
    ("submitted", {}),
    ("message", {"role": "user", "content": "Go."}),
    TURN,
    says(runs(arguments=ARGUMENTS), runs("b", script="fail")),
    sent(),
    sent("1.1"),
    started(),
    ("sent", MESSAGE),
    started(key="1.1"),
    ("failed", {"key": "1.1", "text": "it failed"}),
    started(2, key="1.1"),
    came(),
    came("timed_out", "too late", key="1.1"),
    shown("b", status="timed_out", returncode=124, stdout="", stderr="slow\n", timeout=3),
    shown("a", status="succeeded", returncode=0, stdout='{"final_position": {"x": 10}}\n', stderr=""),
    ("turn", {"turn": 2, "model": "model-b"}),
    says(content="Done."),
    ("ended", {"status": "completed", "answer": "Done.", "error": None}),
)


def the(*told: tuple[EventType, dict[str, Any]]) -> SkillExecution:
    """The one execution of a turn in which this happens; it keeps the seed's rules."""
    opening = (TURN, says(runs(arguments=ARGUMENTS)))
    (execution,) = executions_of(SPEC, stream(*opening, *told))
    return SkillExecution.model_validate(execution.model_dump())


def test_a_success_has_the_parameters_the_result_the_version_and_its_times() -> None:
    first, second = executions_of(SPEC, WHOLE)
    assert first == SkillExecution.model_validate(first.model_dump())
    assert first.execution_id == execution_id("c1", "1.0")
    assert (first.agent_id, first.tenant, first.tool, first.call) == ("c1", "acme", "run_skill_script", "1.0")
    assert (first.skill_name, first.skill_version, first.worker, first.runtime) == ("navigate", "1.2.0", "w1", "warm")
    assert (first.parameters, first.result) == (ARGUMENTS, {"final_position": {"x": 10}})
    assert (first.status, first.duration_ms, first.retry_count) == (ExecutionStatus.SUCCESS, 5000, 0)
    assert (second.status, second.retry_count, second.duration_ms) == (ExecutionStatus.TIMEOUT, 1, 4000)
    assert second.error == "timed_out: exit code 124: slow"


def test_turns_have_their_models_and_what_was_said() -> None:
    turns = read(SPEC, WHOLE).turns
    assert [(turn.turn, turn.model) for turn in turns.values()] == [(1, "model-a"), (2, "model-b")]
    assert turns[2].message == {"role": "assistant", "content": "Done."}


def test_messages_are_as_they_were_sent_and_unknown_ones_are_left_out() -> None:
    later: tuple[EventType, dict[str, Any]] = ("sent", MESSAGE | {"message_type": "rumour"})
    records = read(SPEC, [*WHOLE, *stream(later)])
    (message,) = records.messages.values()
    assert message.model_dump(mode="json", exclude_unset=True) == MESSAGE


@given(cuts=st.sets(st.integers(1, len(WHOLE) - 1)))
def test_wherever_the_stream_is_cut_it_tells_the_same(cuts: set[int]) -> None:
    known = Records()
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(WHOLE)], strict=True):
        last = max(known.turns, default=0)
        kept = {
            key: one for key, one in known.executions.items() if key.startswith(f"{last}.") or one.status == "pending"
        }
        told = read(SPEC, WHOLE[begin:end], Records({last: known.turns[last]} if last else {}, kept))
        known.turns |= told.turns
        known.executions |= told.executions
        known.messages |= told.messages
    assert known == read(SPEC, WHOLE)


def test_what_was_said_where_it_goes_on_from_is_no_turn_of_its_own() -> None:
    before = (says(runs("old")), shown("old", stdout="old"))
    records = read(SPEC, stream(*before, TURN, says(content="Hi.")))
    assert (list(records.turns), records.executions) == ([1], {})


def test_one_that_was_only_sent_is_pending() -> None:
    execution = the(sent())
    assert (execution.status, execution.skill_version, execution.worker) == (ExecutionStatus.PENDING, "", "")
    assert execution.parameters == ARGUMENTS


@pytest.mark.parametrize("status", ["failed", "killed", "oom_killed", "cancelled", "lost", "tool_error"])
def test_every_other_end_is_a_failure_that_says_why(status: str) -> None:
    execution = the(sent(), started(), came(status, "the end of it"))
    assert (execution.status, execution.error) == (ExecutionStatus.FAILED, f"{status}: the end of it")


def test_an_error_that_the_model_was_shown_is_the_executions() -> None:
    told = the(sent(), came("tool_error", "Unknown."), shown("a", error="unknown_skill", message="There is none."))
    assert told.error == "tool_error: There is none."


def test_a_call_that_was_lost_and_sent_again_is_one_execution_without_a_retry() -> None:
    execution = the(sent(), started(), sent(attempt=2), started(2), came(), shown("a", stdout="fine"))
    assert (execution.retry_count, execution.worker, execution.duration_ms) == (0, "w1", 3000)
    assert execution.result == {"stdout": "fine"}


def test_what_a_conversation_leaves_open_has_failed_with_its_end() -> None:
    execution = the(sent(), started(), ("ended", {"status": "cancelled"}))
    assert execution.status == ExecutionStatus.FAILED
    assert execution.error == "cancelled: the conversation has ended: cancelled"


def test_what_is_open_when_a_conversation_s_time_is_over_took_too_long() -> None:
    ended = {"status": "expired", "answer": None, "error": {"code": "timeout", "message": "It took 3 s."}}
    execution = the(sent(), started(), ("ended", ended))
    assert (execution.status, execution.error) == (
        ExecutionStatus.TIMEOUT,
        "timed_out: the conversation has ended: expired",
    )
    assert the(sent(), ("ended", ended | {"error": {"code": "max_turns"}})).status == ExecutionStatus.FAILED


def test_a_step_that_never_came_to_an_end_has_the_version_that_was_to_run() -> None:
    agent = AgentSpec(skill="navigate", steps=(ChainStep(skill="navigate", version="1.2.0"),))
    spec = SPEC.model_copy(update={"agent": agent})
    (execution,) = executions_of(spec, stream(TURN, says(runs()), sent()))
    assert (execution.skill_name, execution.skill_version) == ("navigate", "1.2.0")


def test_a_script_that_is_a_tool_of_its_own_is_told_as_its_skills() -> None:
    calls = says(call("navigate__go", arguments=json.dumps({"args": ["--fast"]})))
    (execution,) = executions_of(SPEC, stream(TURN, calls, sent(name="navigate__go", tool="run_skill_script")))
    assert (execution.tool, execution.skill_name) == ("run_skill_script", "navigate")
    assert execution.parameters == {"args": ["--fast"]}


@pytest.mark.parametrize("name", ["list_skills", "get_skill", "skill", "send_message"])
def test_what_runs_nothing_is_no_execution(name: str) -> None:
    assert not executions_of(SPEC, stream(TURN, says(call(name)), sent(name=name), came()))


@pytest.mark.parametrize("arguments", ["{", "[1]", '"text"', "[" * 100_000, DEEP])
def test_arguments_that_are_no_object_are_no_parameters(arguments: str) -> None:
    calls = says(call("run_python_script", arguments=arguments))
    (execution,) = executions_of(SPEC, stream(TURN, calls, sent(name="run_python_script")))
    assert execution.parameters == {}


@pytest.mark.parametrize(
    ("content", "result"),
    [
        ({"result": {"n": 1}, "stdout": "x"}, {"n": 1}),
        ({"result": 7, "stdout": "x"}, {"result": 7}),
        ({"stdout": '{"a": 1}'}, {"a": 1}),
        ({"stdout": "[1]"}, {"stdout": "[1]"}),
        ({"stdout": ""}, {"stdout": ""}),
        ({"stdout": DEEP}, {"stdout": DEEP}),
    ],
)
def test_a_result_is_the_value_else_the_object_that_was_written_else_the_text(
    content: dict[str, Any], result: dict[str, Any]
) -> None:
    assert the(sent(), started(), came(), shown("a", **content)).result == result


def test_names_that_models_and_skills_make_up_are_kept_as_databases_can() -> None:
    assert len(the(sent(skill="x" * 5000)).skill_name) == 200
    assert the(sent(skill="x\0\ud83d")).skill_name == "x\ufffd\ufffd"
    used = {"skill": "navigate", "version": "1" * 5000}
    assert len(the(sent(), started(), ("result", came()[1] | used)).skill_version) == 200


def test_a_message_fills_the_columns_of_its_table_and_no_others() -> None:
    row = message_row(AgentMessage.model_validate(MESSAGE | {"root": "c1"}), Conversation.begun(SPEC))
    assert row.keys() == set(messages.columns.keys())
    assert row["root_id"] == "c1"
