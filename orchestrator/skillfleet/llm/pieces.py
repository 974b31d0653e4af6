"""A whole message as a stream would bring it (pure)."""

import re

from ..conversations.messages import Message
from .base import Calling, Piece, Said

_WORD = re.compile(r"\s*\S+\s*")


def pieces_of(message: Message) -> tuple[Piece, ...]:
    """Word by word."""
    said = [Said(word) for word in _words(message.content or "")]
    calling = [
        Calling(index, call.function.name, word)
        for index, call in enumerate(message.tool_calls or ())
        for word in ("", *_words(call.function.arguments))
    ]
    return (*said, *calling)


def _words(text: str) -> list[str]:
    return _WORD.findall(text) or ([text] if text else [])
