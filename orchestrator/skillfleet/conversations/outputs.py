"""What is found of a conversation when its model asks for it: the whole output of an earlier call, in pieces
(`read_output`); how far its subagents have come (`list_subagents`) (pure)."""

import json
from collections.abc import Callable, Mapping, Sequence

from skillfleet_workers.wire.contract import READ_LIMIT_BYTES, CallRef, ToolError
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import short, shown_to_model

from ..subagents.models import ChildRun
from ..subagents.transitions import state_of
from ..tools.dispatch import OwnCall, dispatch
from ..tools.own import LIST_SUBAGENTS, READ_OUTPUT
from .messages import Message
from .models import Conversation, Status
from .parenting import told_of
from .trimming import BEFORE, call_keys

LISTED_CHARS = 200
"""Of what a subagent has come to."""

Executions = Callable[[CallRef], ScriptExecution | None]
"""The result of a call, whichever of its attempts brought it; None: it was no run, or is there no longer."""


def no_executions(ref: CallRef) -> ScriptExecution | None:
    """They are kept nowhere."""
    return None


States = Callable[[Sequence[str]], Mapping[str, Status]]
"""Of conversations, by their ids: those that are kept."""


def no_states(ids: Sequence[str]) -> dict[str, Status]:
    """Nothing is known of them."""
    return {}


def outputs_for(
    message: Message, conversation: Conversation, executions: Executions, states: States = no_states
) -> dict[int, str]:
    """By the place of each call of `message` that reads the conversation: what it brings."""
    found = {}
    for place, call in enumerate(message.tool_calls or ()):
        if call.function.name == LIST_SUBAGENTS.tool:
            found[place] = _subagents(conversation, states)
        elif call.function.name == READ_OUTPUT.tool:
            meant = dispatch(call.function, conversation)
            if isinstance(meant, OwnCall):
                request = meant.request
                found[place] = _output(conversation, request["call"], request.get("offset", 0), executions)
    return found


def _subagents(conversation: Conversation, states: States) -> str:
    now = states([child.id for child in conversation.open_children]) if conversation.open_children else {}
    listed = [_listed(child, now.get(child.id)) for child in conversation.children]
    return json.dumps(listed, ensure_ascii=False)


def _listed(child: ChildRun, status: Status | None) -> dict[str, str]:
    """`status`: of one that is open. What it has come to is told by await_subagents."""
    told = told_of(child, state_of(status) if status and child.open else None)
    about = {"skill": child.skill} if child.skill else {}
    return told | about | {name: short(told[name], LISTED_CHARS) for name in ("answer", "error") if name in told}


def _output(conversation: Conversation, key: str, offset: int, executions: Executions) -> str:
    places = {of: at for at, of in call_keys(conversation)}
    key = key if key in places else f"{BEFORE}{key}"  # as it was told before this conversation went on
    if key not in places:
        return shown_to_model(
            ToolError(
                error="unknown_call",
                message=f"There is no call {key.removeprefix(BEFORE)!r} before this turn.",
                fix="Pass the call as the pointer names it, as in call='1.0'.",
            )
        )
    run = next((run for run in conversation.runs if run.key == key), None)
    execution = executions(run.ref) if run and run.worker else None
    return piece(_text(execution) if execution else conversation.messages[places[key]].content or "", offset)


def piece(text: str, offset: int) -> str:
    """From that byte on, as much as one read returns. Pieces end on a character."""
    data = text.encode("utf-8", "replace")
    shown = data[offset : offset + READ_LIMIT_BYTES].decode("utf-8", "ignore")
    if offset >= len(data):
        return f"[there is nothing at byte {offset}: it has {len(data)}]"
    end = offset + len(shown.encode())
    if end >= len(data) or not shown:
        return shown
    return f"{shown}\n[cut at byte {end} of {len(data)}; to read on, call again with offset={end}]"


def _text(run: ScriptExecution) -> str:
    """What the model was shown the beginning and the end of, whole."""
    parts = {"stdout": run.stdout, "stderr": run.stderr}
    if run.result is not None:
        result = run.result
        parts["result"] = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    about = f"[{run.status}, exit code {run.returncode}]"
    return "\n".join([about, *(f"[{name}]\n{text}" for name, text in parts.items() if text)])
