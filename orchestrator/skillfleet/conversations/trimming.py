"""Which tool outputs a model is no longer shown, as the transcript nears its window (pure).

The transcript itself keeps everything. What is shown changes rarely and then much, so that a provider's cache of
prompts keeps its prefix in between.
"""

from collections.abc import Iterator, Sequence

from skillfleet_workers.wire.contract import ACTIVATE

from .messages import Message, ToolDefinition
from .models import Conversation

CHARS_A_TOKEN = 4
MESSAGE_TOKENS = 8
"""What a message takes besides its text."""

IMAGE_TOKENS = 1_500
POINTER_TOKENS = 50
TOOL_CHARS, PARAMETER_CHARS = 80, 60
"""What a tool's definition takes besides its description: by itself, and for each parameter."""

HIGH, LOW = 0.85, 0.60
"""Parts of the window: over the first, it is trimmed to the second."""

KEPT_TURNS = (2, 2, 1, 0)
"""How many of the last turns stay whole, by how often the provider has said that the transcript is too long."""

MOST_TRIMS = len(KEPT_TURNS) - 1

LEAST_CHARS = 1_000
"""A shorter output stays: a pointer would hardly be shorter."""

CUT = "characters left out; read_output"
"""Stands in what was too long to be shown from the start (wire/shown.py)."""


BEFORE = "before."
"""Begins the keys of calls that were made before this conversation, which goes on from another."""


def as_shown(conversation: Conversation) -> tuple[Message, ...]:
    """The transcript with the outputs before `trimmed` as pointers."""
    place = conversation.trimmed
    keys = dict(call_keys(conversation)) if place else {}
    statuses = {run.key: run.status or "" for run in conversation.runs} if place else {}
    head = (
        _pointer(message, keys[at], statuses.get(keys[at], "")) if _goes(message) and at in keys else message
        for at, message in enumerate(conversation.messages[:place])
    )
    return (*head, *conversation.messages[place:])


def call_keys(conversation: Conversation) -> Iterator[tuple[int, str]]:
    """The places of the tool messages, each with the key of its call."""
    opening = len(conversation.spec.opening)
    turn, index = 0, 0
    for at, message in enumerate(conversation.messages):
        if at == opening:
            turn = 0
        if message.role == "assistant":
            turn, index = turn + 1, 0
        elif message.role == "tool":
            yield at, f"{BEFORE if at < opening else ''}{turn}.{index}"
            index += 1


def has_more(conversation: Conversation) -> bool:
    """Some output is not shown in full, so that there is use for `read_output`."""
    return conversation.trimmed > 0 or any(
        message.role == "tool" and CUT in (message.content or "") for message in conversation.messages
    )


def trimmed_for(conversation: Conversation, tools: Sequence[ToolDefinition], catalog: str, room: int) -> int:
    """What `trimmed` has to be, so that the request fits `room` tokens."""
    size = _size(conversation, tools, catalog)
    return conversation.trimmed if size <= HIGH * room else _trimmed_to(conversation, size, LOW * room, KEPT_TURNS[0])


def trimmed_harder(
    conversation: Conversation, tools: Sequence[ToolDefinition], catalog: str, room: int, times: int, than: int
) -> int | None:
    """The same, once the provider has said for the `times`th time that the request is too long, last when it was
    trimmed to `than`; None: nothing more can be left out. `conversation`: as it was before."""
    size = _size(conversation, tools, catalog)
    for kept in KEPT_TURNS[times:]:
        place = _trimmed_to(conversation, size, min(size, room) * LOW ** (times + 1), kept)
        if place > than:
            return place
    return None


def _trimmed_to(conversation: Conversation, size: float, target: float, kept: int) -> int:
    """Oldest first, and never a part of a turn that is kept."""
    messages, place = conversation.messages, conversation.trimmed
    for at in range(place, _kept_from(messages, kept)):
        if size <= target:
            break
        if _goes(messages[at]):
            size -= _tokens(messages[at]) - POINTER_TOKENS
            place = at + 1
    return place


def _kept_from(messages: tuple[Message, ...], turns: int) -> int:
    """Where the last turns begin: each with its assistant message."""
    said = [at for at, message in enumerate(messages) if message.role == "assistant"]
    if not turns:
        return len(messages)
    return said[-turns] if len(said) >= turns else 0


def _goes(message: Message) -> bool:
    """The instructions of an activated skill stay."""
    if message.role != "tool" or message.name == ACTIVATE.tool:
        return False
    return len(message.content or "") > LEAST_CHARS or bool(message.attachments)


def _pointer(message: Message, key: str, status: str) -> Message:
    content = message.content or ""
    files = ", ".join(file.name for file in message.attachments or ())
    if len(content) > LEAST_CHARS:
        came = f" ({status})" if status else ""
        content = (
            f"[This call's output{came}, {len(content)} characters, is no longer shown here; "
            f"read_output with call='{key}' brings it again.]"
        )
    if files:
        content = f"{content}\n[No longer shown here: {files}]"
    return message.model_copy(update={"content": content, "attachments": None})


def _size(conversation: Conversation, tools: Sequence[ToolDefinition], catalog: str) -> float:
    """Tokens of the request as it would be shown now: what the provider counted of the last one, and what has come
    since. Where it has counted none, an estimate; where it has counted next to nothing, half of that."""
    shown = as_shown(conversation)
    overhead = len(catalog) + sum(map(_tool_chars, tools))
    estimate = overhead / CHARS_A_TOKEN + sum(map(_tokens, shown))
    if not conversation.asked_tokens:
        return estimate
    since = shown[_kept_from(shown, 1) :]
    return max(conversation.asked_tokens + sum(map(_tokens, since)), estimate / 2)


def _tokens(message: Message) -> float:
    calls = sum(len(call.function.name) + len(call.function.arguments) for call in message.tool_calls or ())
    images = sum(file.is_image for file in message.attachments or ())
    return MESSAGE_TOKENS + (len(message.content or "") + calls) / CHARS_A_TOKEN + images * IMAGE_TOKENS


def _tool_chars(tool: ToolDefinition) -> int:
    parameters = len(tool.function.parameters.get("properties", ()))
    return TOOL_CHARS + len(tool.function.description) + parameters * PARAMETER_CHARS
