"""Text of others on a terminal: shown, never obeyed (pure)."""

import re

_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 (but newline and tab), DEL and C1 controls, what turns the direction of writing, and lone surrogates,
which no stream can encode."""

_PICTURES = 0x2400
_DELETE, _DELETE_PICTURE = "\x7f", "\u2421"


def printable(text: str) -> str:
    """Every character that a terminal would obey, as one that it shows: ESC as its picture, U+202E as `\\u202e`."""
    return _COMMANDS.sub(lambda match: _shown(match[0]), text)


def _shown(command: str) -> str:
    if command == _DELETE:
        return _DELETE_PICTURE
    if command < " ":
        return chr(_PICTURES + ord(command))
    return command.encode("ascii", "backslashreplace").decode()
