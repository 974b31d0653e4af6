"""Where the input of a plan's tool quotes what another tool has brought (pure)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jsonpointer import JsonPointer, JsonPointerException
from pydantic import JsonValue

FROM, POINTER = "$from", "pointer"
"""`{"$from": TOOL_ID, "pointer": JSON_POINTER}`; the pointer (RFC 6901) may be left out: all of it."""

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Quoted:
    """`place`: in the tool's input. `wrong`: why it cannot be read so, empty: it can."""

    place: Place
    tool_id: str
    pointer: str = ""
    wrong: str = ""


def quotes(value: JsonValue, place: Place = ()) -> Iterator[Quoted]:
    """In the order in which they stand there."""
    if isinstance(value, dict) and FROM in value:
        yield _quoted(value, place)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from quotes(part, (*place, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from quotes(part, (*place, index))


def _quoted(value: Mapping[str, JsonValue], place: Place) -> Quoted:
    tool_id, pointer = value[FROM], value.get(POINTER, "")
    if not isinstance(tool_id, str):
        return Quoted(place, "", wrong=f"{FROM} is a toolId, which is a text")
    if extra := sorted(value.keys() - {FROM, POINTER}):
        return Quoted(place, tool_id, wrong=f"beside {FROM} stands {POINTER} alone, not {extra[0]!r}")
    if not isinstance(pointer, str) or not _is_pointer(pointer):
        return Quoted(place, tool_id, wrong=f"{pointer!r} is no JSON Pointer; write '/name/0', or leave it out")
    return Quoted(place, tool_id, pointer)


def _is_pointer(text: str) -> bool:
    try:
        JsonPointer(text)
    except JsonPointerException:
        return False
    return True
