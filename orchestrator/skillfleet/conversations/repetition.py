"""A model that makes the same call again and again and learns nothing by it (pure)."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from skillfleet_workers.wire.contract import ToolError

from .limits import Problem
from .messages import FunctionCall, Message, ToolCall
from .models import Conversation
from .runs import ToolRun

SAME_RESULTS = 3
"""After so many turns in a row in which a call brought the same, it is not made again."""

MAX_REFUSED_TURNS = 3
"""After so many turns in a row in which nothing else was called, the model has its last turn."""

REPEATED_CALL = "repeated_call"


@dataclass(frozen=True, slots=True)
class Past:
    """The calls of a turn that is over: what each was shown to bring, None where it was refused as repeated."""

    brought: dict[str, str | None]


def without_repeated(
    conversation: Conversation, runs: Sequence[ToolRun], waiting: Collection[str] = ()
) -> tuple[ToolRun, ...]:
    """The calls of the model's last message: those that it has made often enough are answered instead. `waiting`: the
    tools for which that is never so."""
    calls = conversation.messages[-1].tool_calls or ()
    before = tuple(_past(conversation))
    return tuple(
        run.refuse(_told(call)) if run.name not in waiting and _repeated(identity(call.function), before) else run
        for call, run in zip(calls, runs, strict=True)
    )


def stuck(conversation: Conversation) -> Problem | None:
    """Its last turns called nothing but what was refused as repeated."""
    turns = range(conversation.turn, conversation.turn - MAX_REFUSED_TURNS, -1)
    for turn in turns:
        runs = [run for run in conversation.runs if run.ref.turn == turn]
        if not runs or any(run.refused != REPEATED_CALL for run in runs):
            return None
    called = next(run.name for run in conversation.runs if run.ref.turn == conversation.turn)
    message = f"The model called {called} again and again with the same arguments, and got the same result."
    fix = "Say more exactly what is wanted, or use another model."
    return Problem(code="repeated_calls", message=message, fix=fix)


def identity(call: FunctionCall) -> str:
    """The same for calls whose arguments are the same JSON value."""
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = call.arguments
    return f"{call.name} {arguments}"


def _repeated(call: str, before: Sequence[Past]) -> bool:
    results: list[str] = []
    for turn in before:
        if call not in turn.brought:
            return False
        brought = turn.brought[call]
        if brought is None:
            continue
        if results and brought != results[0]:
            return False
        results.append(brought)
        if len(results) == SAME_RESULTS:
            return True
    return False


def _past(conversation: Conversation) -> Iterator[Past]:
    """The newest first. What a model is shown of a run tells no times."""
    refused = {run.key for run in conversation.runs if run.refused == REPEATED_CALL}
    answers: dict[str, str] = {}
    turn = conversation.turn
    for message in reversed(conversation.messages[len(conversation.spec.opening) : -1]):
        if message.role == "tool":
            answers[message.tool_call_id or ""] = _shown(message)
        elif message.role == "assistant":
            turn -= 1
            yield Past(_brought(message, turn, answers, refused))
            answers = {}


def _shown(message: Message) -> str:
    """Images may change while the words about them stay the same."""
    return "\n".join([message.content or "", *(file.digest for file in message.attachments or ())])


def _brought(message: Message, turn: int, answers: dict[str, str], refused: set[str]) -> dict[str, str | None]:
    return {
        identity(call.function): None if f"{turn}.{index}" in refused else answers.get(call.id, "")
        for index, call in enumerate(message.tool_calls or ())
    }


def _told(call: ToolCall) -> ToolError:
    return ToolError(
        error=REPEATED_CALL,
        message=f"This call of {call.function.name} has brought the same result {SAME_RESULTS} times in a row; "
        "it was not made again.",
        fix="Use the result that stands above: call something else, or answer with what you have.",
    )
