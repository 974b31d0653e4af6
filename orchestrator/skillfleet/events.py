"""What followers and history read of a conversation: its event stream (what happened, in order, without a gap), and
its live stream (what is worth seeing while it happens)."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from skillfleet_workers.wire.shown import readable_arguments

from .conversations.messages import Message
from .conversations.models import Conversation
from .conversations.moves import CallModel, Effect, RunTool, TakeMail
from .conversations.persons import Asked
from .conversations.plan_runs import SKIPPED, named_in
from .conversations.runs import ToolRun
from .errors import BadRequestError
from .plans.models import PlanSpec
from .subagents.models import ChildRun
from .subagents.told import told_of_own
from .tools.own import EXECUTE_PLAN, OWN_TOOLS

EventType = Literal[
    "submitted", "message", "turn", "call", "asked", "decided", "started", "failed", "returned", "lost", "result",
    "child", "recorded", "diverged", "paused", "resumed", "sent", "handed", "ended",
]  # fmt: skip
LiveType = Literal["progress", "output", "token", "arguments", "again"]
EntryType = EventType | LiveType


@dataclass(frozen=True, slots=True)
class Entry:
    """Events: `submitted`: the spec's summary; `message`: one Message of the transcript; `turn`: the model is asked
    (`model`: which, where a skill asks for another than the conversation's); `call`: a call was sent (`tool`: the
    contract's, where it has another `name`; `skill`: what it is about; `of_plan`: the toolId), or one that needs no
    worker has begun (`own`); `asked`: a call waits for a person; `decided`: what one has said of it; `started`,
    `failed` (its script has, and is run again), `returned` (its worker has to go, and has ended it), `lost` (its
    worker lives, and has lost its run), `result`: by the worker (of a call about a skill, with its `skill` and
    `version`), or by the orchestrator alone (with `of_plan`); `child`: the child conversation that works on a call
    has begun (`status` queued), or has ended; `recorded`: of a recorded conversation, what the model was asked for
    the message that follows; `diverged`: where that is not what was recorded, of a replay; `paused`, `resumed`: from
    here on nothing new is started, or it is again; `sent`: an AgentMessage was, by it (or to it, by the system);
    `handed`: a call was given messages that had come (`message_ids`); `ended`: the terminal status, once.

    Of the live stream, which is bounded and forgets: `progress`: what a call is busy with before its script runs;
    `output`: what its script writes; `token`: what the model says; `arguments`: what it writes into a call;
    `again`: what it has said in this turn counts no more. They name their call's `key`, or the `turn`.

    `seq` of an event is its number; of a live entry that of the event that it comes after. `cursor` is where a
    follower reads on; `at` is seconds since the epoch.
    """

    seq: int
    at: float
    type: EntryType
    data: dict[str, Any]
    cursor: str = ""
    live: bool = False


PLACE = re.compile("[0-9]{1,19}(-[0-9]{1,19})?")
"""An id of an entry as redis gives them, whose two numbers fit into 64 bits."""

CURSOR = re.compile(f"{PLACE.pattern}(/{PLACE.pattern})?")
"""Of the events, or of both streams."""

Told = tuple[EventType, str]
"""An entry that is not in the stream yet: its type and the JSON of its data."""

LiveTold = tuple[LiveType, str]


def token(turn: int, attempt: int, at: int, text: str, skipped: int = 0) -> LiveTold:
    """What the model says more in this turn (counted from 1), when it is asked for the `attempt`th time. `at`:
    characters of this attempt's text before it; `skipped`: how many of them, the last, were not told."""
    return "token", json.dumps({"turn": turn, "attempt": attempt, "at": at, "text": text, "skipped": skipped})


def arguments(turn: int, attempt: int, index: int, name: str, at: int, text: str, skipped: int = 0) -> LiveTold:
    """Likewise, of the arguments of the turn's call `index`, which is written as JSON."""
    more = {"index": index, "name": name, "at": at, "text": text, "skipped": skipped}
    return "arguments", json.dumps({"turn": turn, "attempt": attempt, **more})


def again(turn: int, attempt: int) -> LiveTold:
    """What was said in this turn counts no more; the model is asked for the `attempt`th time."""
    return "again", json.dumps({"turn": turn, "attempt": attempt})


@dataclass(slots=True)
class Position:
    """How far a follower has come: the cursor of either stream, and as text a cursor of both."""

    events: str
    live: str | None

    @classmethod
    def at(cls, cursor: str, *, live: bool) -> Self:
        """
        Raises:
            BadRequestError: no entry has such a cursor.
        """
        if not CURSOR.fullmatch(cursor):
            raise BadRequestError(f"no cursor: {cursor!r}; give '0', or the cursor of an entry")
        events, _, lives = cursor.partition("/")
        # Both streams number their entries by the time: one that knows no live entry begins where its event was.
        return cls(events, (lives or events) if live else None)

    def passed(self, entry: Entry) -> Entry:
        """The entry, from whose cursor on both streams can be read."""
        if entry.live:
            self.live = entry.cursor
        else:
            self.events = entry.cursor
        return replace(entry, cursor=self.events if self.live is None else f"{self.events}/{self.live}")


def in_order(events: list[Entry], live: list[Entry]) -> list[Entry]:
    """Both streams as one."""
    return sorted([*events, *live], key=lambda entry: (entry.seq, entry.live)) if live else events


def opening(conversation: Conversation) -> list[Told]:
    spec = conversation.spec
    summary = {"model": spec.model, "skills": spec.skills, "limits": spec.limits.model_dump()}
    return [("submitted", json.dumps(summary)), *(_message(m) for m in spec.opening)]


def changes(before: Conversation, after: Conversation, effects: list[Effect]) -> list[Told]:
    """What a step adds to the stream."""
    added = after.messages[len(before.messages) :]
    told = [*_of_request(before, after), *(_message(message) for message in added)]
    if (before.status == "paused") != (after.status == "paused") and not after.terminal:
        told.insert(0, ("paused" if after.status == "paused" else "resumed", "{}"))
    told += [_handed(effect) for effect in effects if isinstance(effect, TakeMail)]
    known = {run.key for run in before.runs if run.status}
    told += [_decided(run, added, after.spec.plan) for run in after.runs if run.key not in known and _by_engine(run)]
    leaving = {child.key for child in before.leaving}
    told += [_child_ended(child) for child in after.children if child.status and child.key in leaving]
    waited = {run.key for run in before.runs}
    told += [_asked(run, after.spec.plan) for run in after.with_persons if run.key not in waited]
    sent = {run.ref for run in before.runs if run.sends}
    # Of an attempt that is sent once more nobody learns anything: its message may only have been slow.
    runs = [effect.run for effect in effects if isinstance(effect, RunTool) and effect.run.ref not in sent]
    told += [_call(run, after.spec.plan) for run in runs]
    begun = {run.key for run in before.runs if run.begun}
    told += [_call(run) for run in after.out if run.begun and run.key not in begun]
    if any(isinstance(effect, CallModel) for effect in effects):
        told.append(("turn", json.dumps(_turn(after))))
    if after.terminal and not before.terminal:
        told.append(("ended", json.dumps(_ending(after))))
    return told


def _turn(conversation: Conversation) -> dict[str, Any]:
    wish = {"model": conversation.model} if conversation.model != conversation.spec.model else {}
    return {"turn": conversation.turn + 1, **wish}


def _of_request(before: Conversation, after: Conversation) -> list[Told]:
    new = after.divergences[len(before.divergences) :]
    told: list[Told] = [("diverged", divergence.model_dump_json()) for divergence in new]
    if after.asked and after.asked != before.asked:
        told.append(("recorded", after.asked.model_dump_json()))
    return told


def _message(message: Message) -> Told:
    return "message", message.model_dump_json(exclude_none=True)


def _call(run: ToolRun, plan: PlanSpec | None = None) -> Told:
    about = {
        "key": run.key,
        "name": run.name,
        "attempt": run.ref.attempt,
        "arguments": readable_arguments(_asked_for(run)),
    }
    more = {"tool": run.tool, "skill": run.skill, "own": run.own} | _of_plan(run, plan)
    return "call", json.dumps(about | {name: value for name, value in more.items() if value})


def _of_plan(run: ToolRun, plan: PlanSpec | None) -> dict[str, str]:
    return {"of_plan": named_in(plan, run)} if plan else {}


def _asked_for(run: ToolRun) -> dict[str, Any]:
    """Without what was worked out of it."""
    own = OWN_TOOLS.get(run.name) if run.own else None
    return {name: value for name, value in run.request.items() if own is None or name in own.request.model_fields}


def _handed(effect: TakeMail) -> Told:
    return "handed", json.dumps({"key": effect.key, "message_ids": [one.message.message_id for one in effect.mail]})


def _asked(run: ToolRun, plan: PlanSpec | None) -> Told:
    return "asked", Asked.of(run, plan).model_dump_json(exclude_defaults=True)


def _child_ended(child: ChildRun) -> Told:
    return "child", json.dumps({"key": child.key, "child": child.id, "status": child.status})


def _by_engine(run: ToolRun) -> bool:
    """Answered before it was sent, given up as lost, or cancelled: no worker tells of it."""
    answered = run.status == "succeeded" and not run.sends
    return answered or (run.status in ("tool_error", "lost", "cancelled", SKIPPED) and not run.worker)


def _decided(run: ToolRun, added: tuple[Message, ...], plan: PlanSpec | None) -> Told:
    answers = (message.content for message in added if message.tool_call_id == run.tool_call_id)
    shown = run.shown or next(answers, None) or "{}"
    is_result = run.status == "succeeded" or run.name == EXECUTE_PLAN.tool
    tail = shown if is_result else json.loads(shown).get("message", "")
    tail = told_of_own(run.name, tail) if run.name in OWN_TOOLS else tail
    about = {"key": run.key, "name": run.name, "status": run.status, "tail": tail}
    return "result", json.dumps(about | _of_plan(run, plan))


def _ending(conversation: Conversation) -> dict[str, Any]:
    return {
        "status": conversation.status,
        "answer": conversation.answer,
        "error": conversation.error.model_dump() if conversation.error else None,
    }
