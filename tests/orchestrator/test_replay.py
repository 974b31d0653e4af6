"""Replaying a recording, and telling where it is not asked what was recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conversation_steps import NOW, after, asks, call, finished, make_spec, run_python, says

from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Divergence, Problem, Usage
from skillfleet.conversations.messages import FunctionDefinition, Message, ToolDefinition
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ModelReplied, Submitted
from skillfleet.conversations.recorded import MAX_DIVERGENCES, Asked, with_divergences
from skillfleet.conversations.runs import ToolRun
from skillfleet.errors import BadRequestError
from skillfleet.events import changes
from skillfleet.llm.base import ModelReply, ModelRequest, Piece, Said
from skillfleet.llm.divergence import SHOWN_CHARS, digests
from skillfleet.llm.recording import Recording, load_recording
from skillfleet.llm.replay import ReplayModel
from skillfleet.subagents.fork import child_spec
from skillfleet.submission import Submission
from skillfleet_workers.wire.contract import CallRef, Governing

RAN = {"status": "succeeded", "returncode": 0, "stdout": "42\n", "stderr": ""}
CALL = run_python("call_1")
SYSTEM, PROMPT = Message(role="system", content="Be brief."), Message(role="user", content="What is 6 * 7?")
CALLS = Message(role="assistant", content="I run it.", tool_calls=(CALL,))
ANSWER = Message(role="assistant", content="It is 42.")


def brought(**other: Any) -> Message:
    return Message(role="tool", tool_call_id="call_1", name="run_python_script", content=json.dumps(RAN | other))


def tool(name: str, description: str = "Does it.") -> ToolDefinition:
    return ToolDefinition(function=FunctionDefinition(name=name, description=description, parameters={}))


TOOLS = (tool("list_skills"), tool("run_python_script"))
RECORDING = Recording(
    id="c0",
    prompt="What is 6 * 7?",
    messages=(SYSTEM, PROMPT, CALLS, brought(), ANSWER),
    turns=(
        Asked(turn=1, system="Be brief.", tools=digests(TOOLS), messages=2, usage=Usage(input_tokens=9, cost=0.5)),
        Asked(turn=2, tools=digests(TOOLS), messages=4, usage=Usage(input_tokens=20, cost=0.5)),
    ),
)


def replied(*messages: Message, tools: tuple[ToolDefinition, ...] = TOOLS, start: int = 0) -> ModelReply:
    reply = ReplayModel(RECORDING, start).reply(ModelRequest(messages, tools))
    assert isinstance(reply, ModelReply), reply
    return reply


def places(*messages: Message, tools: tuple[ToolDefinition, ...] = TOOLS) -> dict[str, tuple[Any, Any]]:
    return {one.place: (one.then, one.now) for one in replied(*messages, tools=tools).divergences}


def test_the_same_requests_bring_the_same_replies_with_their_tokens_and_at_no_cost() -> None:
    first, second = replied(SYSTEM, PROMPT), replied(SYSTEM, PROMPT, CALLS, brought())
    assert (first.message, second.message) == (CALLS, ANSWER)
    assert first.usage == Usage(input_tokens=9)
    assert not first.divergences and not second.divergences


def test_a_reply_is_heard() -> None:
    heard: list[Piece] = []
    ReplayModel(RECORDING).reply(ModelRequest((SYSTEM, PROMPT), TOOLS), heard.append)
    assert heard == [Said("I run it.")]


def test_another_prompt_diverges_and_is_answered_all_the_same() -> None:
    asked = Message(role="user", content="What is 7 * 7?")
    assert places(SYSTEM, asked) == {"messages[1].content": ("What is 6 * 7?", "What is 7 * 7?")}
    assert places(Message(role="system", content="Be long."), PROMPT) == {"system": ("Be brief.", "Be long.")}


def test_a_result_diverges_field_by_field() -> None:
    failed = brought(status="failed", returncode=1, stdout="", error="no")
    assert places(SYSTEM, PROMPT, CALLS, failed) == {
        "messages[3].status": ("succeeded", "failed"),
        "messages[3].returncode": (0, 1),
        "messages[3].stdout": ("42\n", ""),
        "messages[3].error": (None, "no"),
    }


def test_what_diverged_in_an_earlier_turn_is_not_told_again() -> None:
    assert not places(SYSTEM, Message(role="user", content="Another."), CALLS, brought())


def test_tools_that_come_go_or_change_diverge_by_name() -> None:
    offered = (tool("run_python_script", "Does it better."), tool("new"))
    assert set(places(SYSTEM, PROMPT, tools=offered)) == {"tools.list_skills", "tools.run_python_script", "tools.new"}


def test_more_or_fewer_messages_diverge() -> None:
    more = (brought(), Message(role="user", content="Hurry."))
    assert places(SYSTEM, PROMPT, CALLS, *more) == {"messages": ("tool", "tool, user")}


def test_a_long_text_is_told_around_its_first_difference() -> None:
    text = "x" * 5000
    then, now = places(SYSTEM, PROMPT, CALLS, brought(stdout="42\n" + text))["messages[3].stdout"]
    assert then == "42\n"
    assert now.startswith("42\nxxx") and len(now) <= SHOWN_CHARS + 2


def test_a_reply_beyond_the_recording_is_a_problem() -> None:
    problem = ReplayModel(RECORDING).reply(ModelRequest((SYSTEM, PROMPT, CALLS, brought(), ANSWER, PROMPT)))
    assert isinstance(problem, Problem)
    assert (problem.code, bool(problem.fix)) == ("replay_exhausted", True)


def test_in_a_conversation_that_goes_on_the_first_reply_comes_after_what_was_said() -> None:
    said = Message(role="assistant", content="Earlier.")
    assert replied(SYSTEM, PROMPT, said, PROMPT, start=1).message == CALLS


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(RECORDING.as_json()))
    assert ReplayModel.of(load_recording(path)).reply(ModelRequest((SYSTEM, PROMPT), TOOLS)) == replied(
        SYSTEM, PROMPT
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "can't be read"),
        ("{", "is no JSON text"),
        ("{}", "id: Field required"),
        (json.dumps({"id": "c", "version": 2}), "version: Input should be 1"),
        (json.dumps({"id": "c"}), "has no turns"),
    ],
)
def test_a_file_that_is_no_recording_is_one_line_that_says_so(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "r.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadRequestError, match=why):
        Submission.of({"model": f"replay:{path}"})


def test_a_replay_without_a_prompt_takes_the_recorded_one(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(RECORDING.model_copy(update={"skills": ("lab",), "system": "Be kind."}).as_json()))
    asked = Submission.of({"model": f"replay:{path}", "system": "Be quick."})
    assert (asked.prompt, asked.system, asked.skills) == ("What is 6 * 7?", "Be quick.", ("lab",))


def test_a_divergence_that_lasts_is_kept_once_and_their_number_is_bounded() -> None:
    lasting = [Divergence(turn=turn, place="system", then="a", now="b") for turn in (1, 2)]
    assert with_divergences((), lasting) == (lasting[0],)
    many = [Divergence(turn=1, place=f"messages[{at}]") for at in range(MAX_DIVERGENCES + 5)]
    assert len(with_divergences((), many)) == MAX_DIVERGENCES


def test_followers_are_told_what_was_asked_and_what_diverged() -> None:
    before = after(Conversation.begun(make_spec(created_at=NOW)), Submitted())
    reply = ModelReplied(
        says("42").message,
        divergences=(Divergence(turn=1, place="system", then="a", now="b"),),
        asked=Asked(turn=1, messages=2),
    )
    ended, effects = step(before, reply, NOW)
    kinds = [kind for kind, _ in changes(before, ended, effects)]
    assert kinds == ["diverged", "recorded", "message", "ended"]


def test_a_child_of_a_replayed_conversation_plays_what_was_recorded_of_that_call() -> None:
    child = RECORDING.model_copy(update={"id": "c0-1-0"}).as_json()
    spec = make_spec(created_at=NOW).model_copy(
        update={"model": "replay:r.json", "script": {**RECORDING.as_json(), "children": {"1.0": child}}}
    )
    parent = after(Conversation.begun(spec), Submitted(), asks(call("skill", name="lab")), finished("1.0"))

    def played(index: int) -> dict[str, Any] | None:
        ref = CallRef(conversation_id="c1", turn=1, index=index)
        run = ToolRun(ref=ref, tool_call_id="a", name="skill", governing=Governing(skill="lab", model="wish"))
        made = child_spec(parent, run, "Do it.", (), parent.spec.limits)
        assert made.model == "replay:r.json"
        return made.script

    assert played(0) == child
    problem = ReplayModel.of(played(1) or {}).reply(ModelRequest((SYSTEM, PROMPT)))
    assert isinstance(problem, Problem) and "no child" in problem.message
