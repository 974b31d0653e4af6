"""Server-sent events, as providers stream them (pure): bytes -> lines -> events."""

from collections.abc import Iterable, Iterator


def lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Without their ends, LF or CRLF. Not `str.splitlines`: U+2028 and its like stand unescaped in JSON texts."""
    left = bytearray()
    for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            left += line
            yield left.removesuffix(b"\r").decode("utf-8", "replace")
            left.clear()
        left += last  # an endless line costs its length, and not that of all that came before with every chunk
    if left:
        yield left.decode("utf-8", "replace")


def events(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The name (empty: it has none) and the data of each event. Comments, ids and events without data are left out;
    the last event needs no blank line after it."""
    name, data = "", list[str]()
    for line in lines:
        if not line.rstrip("\r\n"):
            if data:
                yield name, "\n".join(data)
            name, data = "", []
            continue
        field, _, value = line.rstrip("\r\n").partition(":")
        match field.removeprefix("\ufeff"):
            case "data":
                data.append(value.removeprefix(" "))
            case "event":
                name = value.removeprefix(" ")
    if data:
        yield name, "\n".join(data)
