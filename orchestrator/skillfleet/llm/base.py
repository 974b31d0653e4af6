"""The port to a language model: one reply for one transcript."""

from dataclasses import dataclass, field
from typing import Protocol

from ..conversations.messages import Message, ToolDefinition
from ..conversations.models import Problem, Usage


@dataclass(frozen=True, slots=True)
class ModelReply:
    """An assistant message, as the provider sent it, and what it cost."""

    message: Message
    usage: Usage = field(default_factory=Usage)


class LanguageModel(Protocol):
    def reply(
        self, messages: tuple[Message, ...], tools: tuple[ToolDefinition, ...], *, timeout_s: float
    ) -> ModelReply | Problem:
        """The model's next message, or why there is none after all retries; never longer than `timeout_s`.

        A refusal, an outage and a malformed answer are values: the conversation ends with them.
        """
        ...
