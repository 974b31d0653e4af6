"""What `read_output` brings: the whole output of an earlier call, in pieces (pure)."""

import json
from collections.abc import Callable

from skillfleet_workers.wire.contract import READ_LIMIT_BYTES, CallRef, ToolError
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import shown_to_model

from ..tools.dispatch import OwnCall, dispatch
from ..tools.own import READ_OUTPUT
from .messages import Message
from .models import Conversation
from .trimming import BEFORE, call_keys

Executions = Callable[[CallRef], ScriptExecution | None]
"""The result of a call, whichever of its attempts brought it; None: it was no run, or is there no longer."""


def no_executions(ref: CallRef) -> ScriptExecution | None:
    """They are kept nowhere."""
    return None


def outputs_for(message: Message, conversation: Conversation, executions: Executions) -> dict[int, str]:
    """By the place of each call of `message` that reads an output: what it brings."""
    found = {}
    for place, call in enumerate(message.tool_calls or ()):
        if call.function.name == READ_OUTPUT.tool:
            meant = dispatch(call.function, conversation)
            if isinstance(meant, OwnCall):
                request = meant.request
                found[place] = _output(conversation, request["call"], request.get("offset", 0), executions)
    return found


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
