"""Server-sent events, as providers write them (pure)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PIECE_CHARS = 7


@dataclass(frozen=True, slots=True)
class Event:
    """`is_piece`: it holds some of the reply's text, or of a call's arguments."""

    sent: bytes
    is_piece: bool = False


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]


def data(document: Any, name: str = "") -> bytes:
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {json.dumps(document)}\n\n".encode()
