"""Conversations for tests: what a model says, and the steps that it makes."""

import json
from typing import Any

from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Limits, Usage
from skillfleet.conversations.messages import FunctionCall, Message, ToolCall
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import Effect, Event, ModelReplied, Submitted, ToolFinished
from skillfleet.llm.prompts import opening
from skillfleet.tools.definitions import all_definitions

NOW = 1_700_000_000.0


def make_spec(name: str = "c1", *, created_at: float = 0.0, **limits: Any) -> ConversationSpec:
    return ConversationSpec(
        id=name,
        opening=opening("What is 6 * 7?"),
        tools=all_definitions(),
        limits=Limits(**limits),
        created_at=created_at,
    )


def queued(name: str = "c1", **limits: Any) -> Conversation:
    spec = make_spec(name, created_at=NOW, **limits)
    return Conversation(spec=spec, messages=spec.opening)


def call(tool: str, call_id: str = "a", arguments: str | None = None, **given: Any) -> ToolCall:
    text = json.dumps(given) if arguments is None else arguments
    return ToolCall(id=call_id, function=FunctionCall(name=tool, arguments=text))


def list_skills(call_id: str = "a", **arguments: Any) -> ToolCall:
    return call("list_skills", call_id, **arguments)


def run_python(call_id: str = "a") -> ToolCall:
    return call("run_python_script", call_id, skill_name="calculator", script="print(6 * 7)")


def asks(*calls: ToolCall) -> ModelReplied:
    message = Message(role="assistant", tool_calls=calls)
    return ModelReplied(message, Usage(input_tokens=10, output_tokens=2))


def says(text: str) -> ModelReplied:
    return ModelReplied(Message(role="assistant", content=text))


def finished(key: str, shown: str = "fine") -> ToolFinished:
    return ToolFinished(key, "succeeded", shown, "w1", "process", 1.5)


def after(conversation: Conversation, *events: Event, now: float = NOW) -> Conversation:
    for event in events:
        conversation, _ = step(conversation, event, now)
    return conversation


def last_effects(conversation: Conversation, *events: Event, now: float = NOW) -> list[Effect]:
    """What the last of the events wants done."""
    return step(after(conversation, *events[:-1], now=now), events[-1], now)[1]


def awaiting_model(name: str = "c1", **limits: Any) -> Conversation:
    return after(queued(name, **limits), Submitted())


def awaiting_calls(*calls: ToolCall, name: str = "c1", **limits: Any) -> Conversation:
    return after(awaiting_model(name, **limits), asks(*calls))
