"""The OpenAI chat format, exactly (seed 000, models 3 to 5)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from skillfleet_workers.wire.files import StoredFile


class ChatModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class FunctionCall(ChatModel):
    """`arguments` is the JSON text as the model wrote it: it may be malformed, and is kept as it came."""

    name: str
    arguments: str


class ToolCall(ChatModel):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(ChatModel):
    """`attachments` (not OpenAI's): files that the message shows the model, in the form that each adapter has for
    them."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    attachments: tuple[StoredFile, ...] | None = None

    @model_validator(mode="after")
    def _fields_fit_role(self) -> "Message":
        if self.role == "tool" and (self.tool_call_id is None or self.content is None):
            raise ValueError("a tool message needs tool_call_id and content")
        if self.role != "assistant" and self.tool_calls:
            raise ValueError("only an assistant message has tool_calls")
        if self.role in ("system", "user") and not self.content:
            raise ValueError(f"a {self.role} message needs content")
        if self.role == "assistant" and not self.tool_calls and self.content is None:
            raise ValueError("an assistant message needs content or tool_calls")
        return self

    def wire(self) -> dict[str, Any]:
        """The message as a provider takes it: fields that are not set are left out, but an assistant's
        content is null where it only calls tools. The name that a tool message carries is ours (seed 000): strict
        providers refuse it."""
        ours = {"attachments", "name"} if self.role == "tool" else {"attachments"}
        fields = self.model_dump(mode="json", exclude_none=True, exclude=ours)
        if self.role == "assistant":
            fields.setdefault("content", None)
        return fields


class FunctionDefinition(ChatModel):
    name: str
    description: str
    parameters: dict[str, Any]


class ToolDefinition(ChatModel):
    type: Literal["function"] = "function"
    function: FunctionDefinition


def transcript_problem(messages: tuple[Message, ...]) -> str | None:
    """Why a provider would refuse this message list, or None: every tool call is answered once, by the tool
    messages right behind it, in any order; nothing else answers."""
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in open_ids:
                return f"message {place}: answers no open call ({message.tool_call_id})"
            open_ids.remove(message.tool_call_id)
            continue
        if open_ids:
            return f"message {place}: calls {open_ids} are not answered before it"
        if message.role == "system" and place:
            return f"message {place}: a system message after the first"
        open_ids = [call.id for call in message.tool_calls or ()]
        if len(set(open_ids)) != len(open_ids):
            return f"message {place}: repeated tool call ids"
    return f"the transcript ends with unanswered calls {open_ids}" if open_ids else None
