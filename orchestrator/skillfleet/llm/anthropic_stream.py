"""The events of one of Anthropic's Messages, folded into one reply (pure)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..conversations.messages import Message
from .anthropic_reply import error_in_body, read_document
from .base import Calling, Hear, ModelReply, Said
from .failures import ALWAYS, Failure, broken_off, malformed
from .replies import text_of


@dataclass(slots=True)
class _Block:
    """`call`: its place among the calls, where it is one."""

    begun: dict[str, Any]
    call: int | None
    pieces: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return self.begun | {"text" if self.call is None else "input": "".join(self.pieces)}


class _Fold:
    """What a reply has come to so far."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._usage: dict[str, Any] = {}
        self._ending: dict[str, Any] = {}

    @property
    def is_whole(self) -> bool:
        return bool(self._ending.get("stop_reason"))

    def add(self, event: dict[str, Any]) -> None:
        """Events and blocks that we don't know, such as thinking, say nothing to us.

        Raises: TypeError, AttributeError, KeyError: it is no event.
        """
        match event["type"]:
            case "message_start":
                self._count(event["message"].get("usage"))
            case "content_block_start":
                self._begin(event["index"], event["content_block"])
            case "content_block_delta":
                self._add_delta(self._blocks[event["index"]], event["delta"])
            case "content_block_stop":
                self._end(self._blocks[event["index"]])
            case "message_delta":
                self._ending |= event["delta"]
                self._count(event.get("usage"))

    def _count(self, usage: dict[str, Any] | None) -> None:
        """Every count is of the whole reply so far."""
        self._usage |= {name: value for name, value in (usage or {}).items() if value is not None}

    def _begin(self, index: int, begun: dict[str, Any]) -> None:
        if not isinstance(index, int):
            raise TypeError(index)
        block = self._blocks[index] = _Block(begun, self._calls if begun["type"] == "tool_use" else None)
        if block.call is not None:
            self._calls += 1
            self._hear(Calling(block.call, begun["name"], ""))
        elif begun.get("text"):
            self._add_text(block, begun["text"])

    def _add_delta(self, block: _Block, delta: dict[str, Any]) -> None:
        if delta["type"] == "text_delta":
            self._add_text(block, delta["text"])
        elif delta["type"] == "input_json_delta" and delta["partial_json"]:
            self._add_arguments(block, _text(delta["partial_json"]))

    def _end(self, block: _Block) -> None:
        if block.call is not None and not block.pieces:
            self._add_arguments(block, json.dumps(block.begun.get("input") or {}, ensure_ascii=False))

    def _add_arguments(self, block: _Block, piece: str) -> None:
        if block.call is not None:
            block.pieces.append(piece)
            self._hear(Calling(block.call, block.begun["name"], piece))

    def _add_text(self, block: _Block, sent: str) -> None:
        text = _text(sent)
        block.pieces.append(text)
        self._hear(Said(text))

    def document(self) -> dict[str, Any]:
        """As the provider would have sent it whole."""
        content = [block.document() for _, block in sorted(self._blocks.items())]
        return {**self._ending, "content": content, "usage": self._usage}


def _text(sent: Any) -> str:
    """Raises: TypeError: it is none."""
    text = text_of(sent)
    if not isinstance(text, str):
        raise TypeError(text)
    return text


def read_stream(events: Iterable[tuple[str, str]], messages: tuple[Message, ...], hear: Hear) -> ModelReply | Failure:
    """`events` as sse.events brings them, and `messages` as in read_reply. It is done with message_stop."""
    fold = _Fold(hear)
    for _, data in events:
        try:
            event = json.loads(data)
            if event["type"] == "error":
                return error_in_body(event.get("error"), data.encode("utf-8", "replace"))
            if event["type"] == "message_stop":
                break
            fold.add(event)
        except (ValueError, RecursionError, TypeError, AttributeError, KeyError):
            return malformed(f"an event of its stream is none: {data[:80]!r}", retries=ALWAYS)
    return read_document(fold.document(), messages) if fold.is_whole else broken_off()
