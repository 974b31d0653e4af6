"""A conversation's events, folded into records (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.versions import split

from ..conversations.messages import Message, ToolCall
from ..conversations.models import ConversationSpec
from ..events import Entry
from ..subagents.mailbox import AgentMessage
from .moments import moment
from .outcomes import EXECUTING, error_of, parameters_of, result_of, status_of
from .records import MOST_RETRIES, ExecutionStatus, SkillExecution, execution_id
from .texts import stored_name


@dataclass(frozen=True, slots=True)
class Turn:
    """`message`: the model's reply, None: it has not come yet."""

    turn: int
    model: str
    started_at: datetime
    message: dict[str, Any] | None = None


@dataclass(slots=True)
class Records:
    """By turn; by call (CallRef.key); by id."""

    turns: dict[int, Turn] = field(default_factory=dict)
    executions: dict[str, SkillExecution] = field(default_factory=dict)
    messages: dict[str, AgentMessage] = field(default_factory=dict)


def executions_of(spec: ConversationSpec, entries: Iterable[Entry]) -> tuple[SkillExecution, ...]:
    """Of the whole stream, in the order in which they were sent."""
    return tuple(read(spec, entries).executions.values())


def read(spec: ConversationSpec, entries: Iterable[Entry], before: Records | None = None) -> Records:
    """What the entries tell anew. `before`: the last turn that earlier ones told of, and its executions; None: these
    are the first."""
    reading = _Reading(spec, before or Records())
    for entry in entries:
        reading.read(entry)
    return reading.told


class _Reading:
    def __init__(self, spec: ConversationSpec, before: Records) -> None:
        self._spec, self._before, self.told = spec, before, Records()
        self._turn = max(before.turns, default=0)
        self._shown: dict[str, str] = {}
        self._called: dict[int, tuple[ToolCall, ...]] = {}
        steps = spec.agent.steps if spec.agent else ()
        self._planned = {step.skill: step.version for step in steps}
        """The versions that a chain runs."""

    def read(self, entry: Entry) -> None:
        at = moment(entry.at)
        match entry.type:
            case "turn":
                self._turn_began(entry.data, at)
            case "message":
                self._said(Message.model_validate(entry.data), entry.data)
            case "call":
                self._sent(entry.data, at)
            case "started" | "failed" | "result":
                self._of_execution(entry.type, entry.data, at)
            case "sent":
                self._message(entry.data)
            case "ended":
                self._ended(entry.data, at)

    def _turn_began(self, data: dict[str, Any], at: datetime) -> None:
        self._turn = data["turn"]
        if self._known_turn() is None:  # it is asked once more where a model failed
            self.told.turns[self._turn] = Turn(self._turn, data.get("model") or self._spec.model, at)

    def _said(self, message: Message, data: dict[str, Any]) -> None:
        turn = self._known_turn()
        if turn is None:  # what was said in the conversation that this one goes on from
            return
        if message.role == "assistant":
            self.told.turns[self._turn] = Turn(turn.turn, turn.model, turn.started_at, data)
        elif message.role == "tool" and message.tool_call_id is not None:
            self._answered(message.tool_call_id, message.content or "")

    def _answered(self, call_id: str, shown: str) -> None:
        ids = [call.id for call in self._calls()]
        if call_id not in ids:
            return
        key = CallRef(conversation_id=self._spec.id, turn=self._turn, index=ids.index(call_id)).key
        self._shown[key] = shown
        run = self._execution(key)
        if run is not None and run.status != ExecutionStatus.PENDING:
            self._keep(run, **_outcome(run.status, (run.error or "").partition(":")[0], "", shown))

    def _sent(self, data: dict[str, Any], at: datetime) -> None:
        key, tool = data["key"], data.get("tool") or data["name"]
        if tool not in EXECUTING or self._execution(key):
            return
        index, calls = int(key.partition(".")[2]), self._calls()
        arguments = calls[index].function.arguments if index < len(calls) else "{}"
        asked = data.get("skill") or ""
        skill, version = split(asked)
        self.told.executions[key] = SkillExecution(
            execution_id=execution_id(self._spec.id, key),
            agent_id=self._spec.id,
            skill_name=stored_name(skill),
            skill_version=stored_name(version or self._planned.get(asked, "")),
            parameters=parameters_of(tool, arguments),
            started_at=at,
            tenant=self._spec.tenant,
            call=key,
            tool=tool,
        )

    def _of_execution(self, kind: str, data: dict[str, Any], at: datetime) -> None:
        run = self._execution(data["key"])
        if run is None or run.status != ExecutionStatus.PENDING:
            return
        if kind == "started":
            first = {} if run.worker else {"started_at": at}
            self._keep(run, worker=data.get("worker", ""), **first)
        elif kind == "failed":
            self._keep(run, retry_count=min(MOST_RETRIES, run.retry_count + 1))
        else:
            self._result(run, data, at)

    def _result(self, run: SkillExecution, data: dict[str, Any], at: datetime) -> None:
        status, shown = status_of(data["status"]), self._shown.get(run.call, "")
        used = {
            "skill_name": stored_name(data.get("skill") or ""),
            "skill_version": stored_name(data.get("version") or ""),
        }
        told = {name: data.get(name) for name in ("worker", "runtime")}
        self._keep(
            run,
            status=status,
            completed_at=max(at, run.started_at or at),
            **_outcome(status, data["status"], data.get("tail", ""), shown),
            **{name: value for name, value in (used | told).items() if value},
        )

    def _ended(self, data: dict[str, Any], at: datetime) -> None:
        """No call is left without its end, whoever failed to tell of it."""
        out_of_time = (data.get("error") or {}).get("code") == "timeout"
        told = {"status": "timed_out" if out_of_time else "cancelled"}
        told["tail"] = f"the conversation has ended: {data['status']}"
        for run in {**self._before.executions, **self.told.executions}.values():
            if run.status == ExecutionStatus.PENDING:
                self._result(run, told, at)

    def _message(self, data: dict[str, Any]) -> None:
        try:
            message = AgentMessage.model_validate(data)
        except ValidationError:  # of a kind that only a later release knows
            return
        self.told.messages[message.message_id] = message

    def _keep(self, run: SkillExecution, **changed: Any) -> None:
        self.told.executions[run.call] = run.model_copy(update=changed)

    def _execution(self, key: str) -> SkillExecution | None:
        return self.told.executions.get(key) or self._before.executions.get(key)

    def _known_turn(self) -> Turn | None:
        return self.told.turns.get(self._turn) or self._before.turns.get(self._turn)

    def _calls(self) -> tuple[ToolCall, ...]:
        turn = self._known_turn()
        if turn is None or turn.message is None:
            return ()
        if turn.turn not in self._called:
            self._called[turn.turn] = Message.model_validate(turn.message).tool_calls or ()
        return self._called[turn.turn]


def _outcome(status: ExecutionStatus, ended: str, tail: str, shown: str) -> dict[str, Any]:
    if status == ExecutionStatus.SUCCESS:
        return {"result": result_of(shown)} if shown else {}
    return {"error": error_of(ended, tail, shown)}
