"""The instructions of a skill as the model is to read them: arguments and the output of commands filled in (pure)."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MOST_CHARS = 1_000_000
"""Of rendered instructions: what stands in them many times may be long."""

CUT = "\n[cut: the instructions are longer than {limit} characters]"

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)")
_COMMAND = re.compile(r"(?<!\S)!`(?P<command>[^`\n]+)`")
_PLACEHOLDER = re.compile(
    r"(?P<kept>\\)?\$(?:(?P<all>ARGUMENTS)(?!\w)|(?P<number>[1-9][0-9]*)|\{(?P<name>[A-Z][A-Z0-9_]*)\})"
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of the skill's author, whose output stands in its place."""

    line: str


Piece = str | Command


def pieces(template: str) -> tuple[Piece, ...]:
    """The template with its commands told apart. In fenced code they are examples: they stay what they are."""
    found: list[Piece] = []
    text = ""
    for part, is_code in _parts(template):
        at = 0
        for command in () if is_code else _COMMAND.finditer(part):
            found += [text + part[at : command.start()], Command(command["command"])]
            text, at = "", command.end()
        text += part[at:]
    return (*found, text)


def rendered(template: Sequence[Piece], outputs: Sequence[str], arguments: str, names: Mapping[str, str]) -> str:
    """The text of `pieces`, with one of `outputs` for each of its commands. `names` are what `${NAME}` may stand for.

    It is made in one pass: what comes from the arguments or from a command is never filled in again.
    """
    words = split(arguments)
    left = iter(outputs)
    asks = False
    parts: list[str] = []
    for piece in template:
        if isinstance(piece, Command):
            parts.append(next(left))
            continue
        asks = asks or any(not found["kept"] and not found["name"] for found in _PLACEHOLDER.finditer(piece))
        parts += _filled(piece, arguments, words, names)
    if arguments.strip() and not asks:
        parts.append(f"\n\nARGUMENTS: {arguments}")
    return _bounded(parts)


def split(arguments: str) -> list[str]:
    """As a shell splits words; on blanks where quotes are not balanced."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _filled(text: str, arguments: str, words: Sequence[str], names: Mapping[str, str]) -> Iterator[str]:
    """The same in parts, as all together may be far too long."""
    at = 0
    for found in _PLACEHOLDER.finditer(text):
        yield text[at : found.start()]
        yield _value(found, arguments, words, names)
        at = found.end()
    yield text[at:]


def _value(found: re.Match[str], arguments: str, words: Sequence[str], names: Mapping[str, str]) -> str:
    name, number = found["name"], found["number"]
    if name and name not in names:
        return found[0]
    if found["kept"]:
        return found[0][1:]
    if name:
        return names[name]
    if not number:
        return arguments
    # Compared by length first: a number of thousands of digits is none that Python reads.
    return words[int(number) - 1] if len(number) < 9 and int(number) <= len(words) else ""


def _bounded(parts: Sequence[str]) -> str:
    room = MOST_CHARS
    kept: list[str] = []
    for part in parts:
        kept.append(part[:room])
        if len(part) > room:
            return "".join(kept) + CUT.format(limit=MOST_CHARS)
        room -= len(part)
    return "".join(kept)


def _parts(template: str) -> Iterator[tuple[str, bool]]:
    """Lines, each with whether it belongs to fenced code. A fence that is not closed holds what follows."""
    fence = ""
    for line in template.splitlines(keepends=True):
        found = _FENCE.match(line.rstrip("\r\n"))
        if fence:
            yield line, True
            if found and found["fence"].startswith(fence) and not found["rest"].strip():
                fence = ""
        elif found and not (found["fence"][0] == "`" and "`" in found["rest"]):
            fence = found["fence"]
            yield line, True
        else:
            yield line, False
