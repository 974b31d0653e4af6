"""The chunks of a streamed chat completion, as providers really send them, folded into one reply (pure)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..conversations.messages import Message
from .base import Calling, Hear, ModelReply, Said
from .failures import ALWAYS, Failure, broken_off, malformed
from .openai_reply import error_in_body, read_document
from .replies import MOST_CALLS, text_of

DONE = "[DONE]"


@dataclass(slots=True)
class _Call:
    place: int
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def take_name(self, sent: str) -> None:
        """It comes once, again with every chunk, grown, or in pieces."""
        if sent.startswith(self.name):
            self.name = sent
        elif sent != self.name:
            self.name += sent

    def document(self) -> dict[str, Any]:
        return {"id": self.id or None, "function": {"name": self.name, "arguments": "".join(self.arguments)}}


class _Fold:
    """What the first choice has come to so far."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._usage: object = None
        self.finish_reason: str | None = None

    def add(self, chunk: dict[str, Any]) -> None:
        """Raises: TypeError, AttributeError: it is no chunk."""
        if chunk.get("usage"):
            self._usage = chunk["usage"]
        for choice in chunk.get("choices") or ():
            if choice.get("index") or 0:
                continue
            if delta := choice.get("delta"):
                self._add_delta(delta)
            self.finish_reason = choice.get("finish_reason") or self.finish_reason

    def _add_delta(self, delta: dict[str, Any]) -> None:
        if text := _text(delta.get("content")):
            self._text.append(text)
            self._hear(Said(text))
        if refusal := _text(delta.get("refusal")):
            self._refusal.append(refusal)
        for sent in delta.get("tool_calls") or ():
            self._add_call(sent)

    def _add_call(self, sent: dict[str, Any]) -> None:
        function = sent.get("function") or {}
        name, arguments = _text(function.get("name")), _text(function.get("arguments"))
        call = self._call(sent.get("index"), str(sent.get("id") or ""), name)
        call.take_name(name)
        call.arguments.append(arguments)
        self._hear(Calling(call.place, call.name, arguments))

    def _call(self, index: int | None, call_id: str, name: str) -> _Call:
        """The one that is meant: by its index, else its id, else the last. Some providers give every call of a turn
        the index 0, with an id and a name of its own."""
        known = [call for call in self._calls if call.index == index] if index is not None else self._calls
        known = [call for call in known if call.id == call_id] or known if call_id else known
        last = known[-1] if known else None
        another = last is not None and call_id and last.id and call_id != last.id and (name or index is None)
        if last is None or another:
            last = _Call(len(self._calls), index)
            if len(self._calls) <= MOST_CALLS:  # the first that is too many tells it
                self._calls.append(last)
        last.id = last.id or call_id
        return last

    def document(self) -> dict[str, Any]:
        """As a provider would have sent it whole."""
        message = {
            "content": "".join(self._text),
            "refusal": "".join(self._refusal) or None,
            "tool_calls": [call.document() for call in self._calls] or None,
        }
        return {"choices": [{"message": message, "finish_reason": self.finish_reason}], "usage": self._usage}


def read_stream(events: Iterable[tuple[str, str]], messages: tuple[Message, ...], hear: Hear) -> ModelReply | Failure:
    """`events` as sse.events brings them, and `messages` as in read_reply. It is done with [DONE], and reads no
    further."""
    fold = _Fold(hear)
    for chunk in _chunks(events):
        if isinstance(chunk, Failure):
            return chunk
        try:
            fold.add(chunk)
        except (TypeError, AttributeError):
            return malformed(f"a chunk of its stream is none: {str(chunk)[:80]!r}", retries=ALWAYS)
    if fold.finish_reason is None:
        return broken_off()
    return read_document(fold.document(), messages)


def _text(sent: object) -> str:
    text = text_of(sent)
    return text if isinstance(text, str) else ""


def _chunks(events: Iterable[tuple[str, str]]) -> Iterator[dict[str, Any] | Failure]:
    for _, data in events:
        if data.strip() == DONE:
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            yield malformed(f"a chunk of its stream is not JSON: {data[:80]!r}", retries=ALWAYS)
            return
        if isinstance(chunk, dict) and chunk.get("error"):
            yield error_in_body(chunk["error"], data.encode("utf-8", "replace"))
            return
        yield chunk
