"""The "model" of a conversation that runs skills without one: it calls what is ready, and answers with what came."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import JsonValue

from skillfleet_workers.wire.contract import RUN_SCRIPT

from ..conversations.limits import Problem
from ..conversations.messages import FunctionCall, Message, ToolCall
from ..conversations.models import ConversationSpec
from ..conversations.outputs import Executions, no_executions
from ..subagents.chain_inputs import given
from ..subagents.mailbox import MAX_PAYLOAD_BYTES
from ..subagents.models import AgentSpec, ChainStep
from ..subagents.step_results import StepResult, step_result
from ..tools.own import PUBLISH
from .base import Hear, ModelReply, ModelRequest, deaf
from .rendering import UnresolvedReference

RUN, TELL = "run", "tell"
"""Begin the ids of its calls; then comes the place of the step."""

Results = Mapping[str, StepResult]
"""By the name of the skill."""


class ChainModel:
    """A LanguageModel without state: which steps have run, and what they came to, it reads in the transcript.
    `start`: how many assistant messages stand before its first reply. It costs no tokens."""

    def __init__(
        self, agent: AgentSpec, conversation_id: str, start: int = 0, executions: Executions = no_executions
    ) -> None:
        self._agent, self._steps = agent, agent.steps
        self._conversation_id, self._start, self._executions = conversation_id, start, executions

    @classmethod
    def of(cls, spec: ConversationSpec, agent: AgentSpec, executions: Executions) -> Self:
        return cls(agent, spec.id, sum(message.role == "assistant" for message in spec.opening), executions)

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        called, results = self._read(request.messages)
        ready = {step.skill: arguments for step, arguments in self._ready(called, results)}
        # Inputs that quote what did not come fail their step before it runs.
        results |= {name: one for name, one in ready.items() if isinstance(one, StepResult)}
        calls = [*self._events(called, results), *self._runs(ready)] if request.may_call else []
        if calls:
            return ModelReply(Message(role="assistant", tool_calls=tuple(calls)))
        return self._answer(results)

    def _read(self, messages: Sequence[Message]) -> tuple[set[str], dict[str, StepResult]]:
        """The ids of the calls that were made, and the results of the steps that have run."""
        shown = {one.tool_call_id: one.content or "" for one in messages if one.role == "tool"}
        said = [one for one in messages if one.role == "assistant"][self._start :]
        called: set[str] = set()
        results = {}
        for turn, message in enumerate(said, start=1):
            for index, call in enumerate(message.tool_calls or ()):
                called.add(call.id)
                kind, _, place = call.id.partition("_")
                if kind == RUN and call.id in shown:
                    ref = {"conversation_id": self._conversation_id, "turn": turn, "index": index}
                    results[self._steps[int(place)].skill] = step_result(shown[call.id], ref, self._executions)
        return called, results

    def _ready(
        self, called: set[str], results: Results
    ) -> Iterator[tuple[ChainStep, dict[str, JsonValue] | StepResult]]:
        outputs = {name: one.output for name, one in results.items() if one.succeeded}
        for place, step in enumerate(self._steps):
            if f"{RUN}_{place}" not in called and all(name in outputs for name in step.after):
                try:
                    yield step, given(step, self._agent, outputs)
                except UnresolvedReference as wrong:
                    yield step, StepResult(why=f"its inputs quote {wrong}")

    def _runs(self, ready: Mapping[str, dict[str, JsonValue] | StepResult]) -> Iterator[ToolCall]:
        for place, step in enumerate(self._steps):
            arguments = ready.get(step.skill)
            if isinstance(arguments, dict):
                request: dict[str, Any] = {"skill_name": step.skill, "script": step.script}
                yield _call(
                    f"{RUN}_{place}", RUN_SCRIPT.tool, request | ({"arguments": arguments} if arguments else {})
                )

    def _events(self, called: set[str], results: Results) -> Iterator[ToolCall]:
        """Of the steps that have ended, each once."""
        for place, step in enumerate(self._steps):
            result, id_ = results.get(step.skill), f"{TELL}_{place}"
            if step.topic and result and id_ not in called:
                told = result.output if result.succeeded else {"skill": step.skill, "error": result.why}
                size = len(json.dumps(told, ensure_ascii=False).encode())
                payload = told if size <= MAX_PAYLOAD_BYTES else {"skill": step.skill, "bytes": size}
                end = "complete" if result.succeeded else "failed"
                yield _call(id_, PUBLISH.tool, {"topic": f"{step.topic}.{end}", "payload": payload})

    def _answer(self, results: Results) -> ModelReply:
        """With a failure the conversation has failed, and what came of the others is kept."""
        came = {name: one.output for name, one in results.items() if one.succeeded}
        content = json.dumps({"results": came}, ensure_ascii=False)
        failed = {step.skill: results[step.skill].why for step in self._steps if _failed(results.get(step.skill))}
        problem = self._problem(failed, [one.skill for one in self._steps if one.skill not in results])
        return ModelReply(Message(role="assistant", content=content), problem=problem if failed else None)

    def _problem(self, failed: Mapping[str, str], not_run: Sequence[str]) -> Problem:
        told = " ".join(f"The step {name!r} failed: {why.rstrip('.')}." for name, why in failed.items())
        skipped = f" Not run because of that: {', '.join(not_run)}." if not_run else ""
        fix = "Look at what it wrote with `skillfleet follow`, mend the skill or the parameters, and run it again."
        return Problem(code="step_failed", message=f"{told}{skipped}", fix=fix)


def _failed(result: StepResult | None) -> bool:
    return result is not None and not result.succeeded


def _call(id_: str, tool: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(id=id_, function=FunctionCall(name=tool, arguments=json.dumps(arguments, ensure_ascii=False)))
