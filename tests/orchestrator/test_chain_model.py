"""The "model" of a conversation that runs skills without one: what it calls next, and what it answers."""

import json
from typing import Any

from tests.conversation_steps import make_spec

from skillfleet.conversations.messages import Message
from skillfleet.conversations.outputs import Executions, no_executions
from skillfleet.llm.base import ModelReply, ModelRequest
from skillfleet.llm.chain import ChainModel
from skillfleet.subagents.models import AgentSpec, ChainStep
from skillfleet_workers.wire.contract import CallRef, ToolError
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import SHOWN_LIMIT_CHARS, shown_to_model
from skillfleet_workers.wire.tool_output import MAX_OUTPUT_CHARS, output_in


def step(skill: str, *after: str, **more: Any) -> ChainStep:
    return ChainStep(skill=skill, script="run.py", after=after, **more)


def wrote(stdout: str, status: Any = "succeeded", **more: Any) -> str:
    return shown_to_model(ScriptExecution(status=status, stdout=stdout, returncode=0, **more), "1.0")


class Chain:
    """A conversation of it, whose calls bring what a test says."""

    def __init__(self, *steps: ChainStep, executions: Executions = no_executions, **agent: Any) -> None:
        spec = make_spec().model_copy(update={"agent": AgentSpec(skill=steps[-1].skill, steps=steps, **agent)})
        assert spec.agent is not None
        self.model = ChainModel.of(spec, spec.agent, executions)
        self.messages = list(spec.opening)

    def reply(self, **request: Any) -> ModelReply:
        found = self.model.reply(ModelRequest(tuple(self.messages), **request))
        assert isinstance(found, ModelReply)
        return found

    def calls(self) -> dict[str, Any]:
        """Of the next turn: the arguments of each script, by skill, and the payload of each event, by topic."""
        message = self.reply().message
        self.messages.append(message)
        asked = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
        return {
            given["topic"] if name == "publish" else given["skill_name"]: given.get("payload", given.get("arguments"))
            for name, given in asked
        }

    def brings(self, **shown: str) -> "Chain":
        """Answers to the calls of the last turn, by skill; events are just told."""
        for call in self.messages[-1].tool_calls or ():
            skill = json.loads(call.function.arguments).get("skill_name", "")
            content = shown.get(skill.replace("-", "_"), "{}")
            self.messages.append(Message(role="tool", tool_call_id=call.id, content=content))
        return self

    def results(self, **request: Any) -> tuple[dict[str, Any], str | None]:
        found = self.reply(**request)
        problem = found.problem.message if found.problem else None
        return json.loads(found.message.content or "")["results"], problem


NAMES = {"properties": {"a": {"default": 1}, "b": {}, "c": {}, "d": {}}}


def test_a_step_is_given_defaults_then_parameters_then_outputs_the_nearest_last_then_inputs() -> None:
    far, near = step("far"), step("near", "far")
    last = step("last", "near", parameters=NAMES, inputs={"d": "${far.list.1}", "e": "at ${near.b}!"})
    chain = Chain(far, near, last, params={"a": 2, "b": 2, "x": 2})
    assert chain.calls() == {"far": None}
    assert chain.brings(far=wrote('{"b": 3, "c": 3, "list": [1, {"y": 2}]}')).calls() == {"near": None}
    given = chain.brings(near=wrote('{"b": 4, "d": 4}')).calls()
    assert given == {"last": {"a": 2, "b": 4, "c": 3, "d": {"y": 2}, "e": "at 4!", "x": 2}}


def test_a_step_without_a_schema_is_given_nothing_of_others() -> None:
    chain = Chain(step("one"), step("two", "one", inputs={"x": 1}), step("asked", "two"), params={"p": 1})
    assert chain.calls() == {"one": None}
    assert chain.brings(one=wrote('{"y": 1}')).calls() == {"two": {"x": 1}}
    assert chain.brings(two=wrote("{}")).calls() == {"asked": {"p": 1}}


def test_events_follow_each_step_and_the_last_before_the_answer() -> None:
    chain = Chain(step("one", topic="first"), step("two", "one", topic="second"))
    chain.calls()
    assert chain.brings(one=wrote('{"x": 1}')).calls() == {"first.complete": {"x": 1}, "two": None}
    failed = wrote("", "failed", stderr="no way", error=None)
    assert chain.brings(two=failed).calls() == {"second.failed": {"skill": "two", "error": "exit code 0: no way"}}
    assert chain.brings().results()[0] == {"one": {"x": 1}}


def test_what_is_too_long_for_a_message_is_told_by_its_size() -> None:
    chain = Chain(step("one", topic="first"))
    chain.calls()
    whole = json.dumps({"x": "é" * 20_000}, ensure_ascii=False)
    told = chain.brings(one=wrote(whole)).calls()
    assert told == {"first.complete": {"skill": "one", "bytes": len(whole.encode())}}


def test_what_is_no_longer_kept_is_no_success() -> None:
    chain = Chain(step("one"))
    chain.calls()
    told = chain.brings(one=wrote("x" * (SHOWN_LIMIT_CHARS + 1))).results()[1]
    assert told == "The step 'one' failed: what it wrote is no longer kept."


def test_a_failure_stops_what_depends_on_it_and_nothing_else() -> None:
    chain = Chain(
        step("bad"), step("good"), step("after-bad", "bad"), step("after-good", "good"), step("end", "after-bad")
    )
    assert chain.calls().keys() == {"bad", "good"}
    late = wrote("", "timed_out", timed_out=True, timeout=5.0)
    assert chain.brings(bad=late, good=wrote("fine")).calls().keys() == {"after-good"}
    came, problem = chain.brings(after_good=wrote("[1]")).results()
    assert came == {"good": {"stdout": "fine"}, "after-good": {"stdout": "[1]"}}
    assert problem == "The step 'bad' failed: it took longer than 5 s. Not run because of that: after-bad, end."


def test_a_call_that_was_refused_is_a_failure_with_its_reason() -> None:
    chain = Chain(step("one"))
    chain.calls()
    denied = ToolError(error="denied_by_person", message="A person has denied this call.", fix="Go on.")
    assert (
        chain.brings(one=shown_to_model(denied)).results()[1]
        == "The step 'one' failed: A person has denied this call."
    )


def test_inputs_that_quote_what_did_not_come_fail_their_step_before_it_runs() -> None:
    chain = Chain(step("one"), step("two", "one", inputs={"x": "${one.y}"}, topic="second"))
    chain.calls()
    assert chain.brings(one=wrote('{"x": 1}')).calls().keys() == {"second.failed"}
    assert "its inputs quote ${one.y}: not in what one has come to" in str(chain.brings().results()[1])


def test_what_was_not_shown_in_full_is_read_as_the_call_left_it() -> None:
    whole = json.dumps({"x": "y" * SHOWN_LIMIT_CHARS})
    asked: list[CallRef] = []

    def execution(ref: CallRef) -> ScriptExecution:
        asked.append(ref)
        return ScriptExecution(status="succeeded", stdout=whole)

    chain = Chain(step("one"), executions=execution)
    chain.calls()
    came, problem = chain.brings(one=wrote(whole)).results()
    assert (came["one"], problem) == (json.loads(whole), None)
    assert {(ref.conversation_id, ref.key) for ref in asked} == {(make_spec().id, "1.0")}
    chain.messages[-1] = chain.messages[-1].model_copy(update={"content": "[This call's output is no longer shown]"})
    assert chain.results()[0]["one"] == json.loads(whole)


def test_in_its_last_turn_it_answers_with_what_has_come() -> None:
    chain = Chain(step("one"), step("two", "one"))
    chain.calls()
    assert chain.brings(one=wrote('{"x": 1}')).results(may_call=False) == ({"one": {"x": 1}}, None)


def test_an_output_is_its_json_object_else_its_text() -> None:
    assert output_in('{"a": [1, null]}') == {"a": [1, None]}
    for text in ("", "80%\n", "[1]", "3", '{"a": NaN}', '{"a": "\\ud800"}', "{" * 100_000):
        assert output_in(text) == {"stdout": text}
    deep = '{"a": ' * 300 + "0" + "}" * 300
    assert output_in(deep) == {"stdout": deep}
    assert output_in("ignored", {"b": 2}) == {"b": 2}
    assert output_in("x" * (MAX_OUTPUT_CHARS + 1)) == {"stdout": "x" * MAX_OUTPUT_CHARS, "truncated": True}
