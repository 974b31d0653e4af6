"""The YAML at the head of SKILL.md, read leniently (pure)."""

import re
from typing import Any

import yaml

# Every scalar stays the text that the author wrote, as in the format's reference reader: no surprise dates,
# numbers or booleans, and no constructor that a strange value could break.
_LOADER: type = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

MAX_DEPTH = 50
"""The C loader overflows the stack of the whole process on some ten thousand nested brackets."""

_BLOCK = re.compile(rb"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(rb"---[ \t]*(?:\r?\n|\Z)")
_BOM = b"\xef\xbb\xbf"

_KEY_LINE = re.compile(r"( *)([\w.-]+):[ \t]+(\S.*)")
_NOT_PLAIN = ("'", '"', "[", "{", "&", "*", "!", "#")


class FrontmatterError(Exception):
    """The frontmatter cannot be read; the message says why."""


def split(head: bytes) -> tuple[dict[str, Any] | None, int]:
    """The frontmatter (None: there is none) and the byte at which the body starts.

    Raises:
        FrontmatterError: it is there, but cannot be read.
    """
    start = len(_BOM) if head.startswith(_BOM) else 0
    if not _OPENING.match(head, start):
        return None, start
    block = _BLOCK.match(head, start)
    if block is None:
        raise FrontmatterError("its frontmatter is not closed with a line of ---")
    return _mapping(block[1].decode("utf-8", "replace")), block.end()


def _mapping(text: str) -> dict[str, Any]:
    try:
        loaded = _load(text)
    except yaml.YAMLError as wrong:
        try:
            loaded = _load(_quoted(text))
        except yaml.YAMLError:
            reason = " ".join(str(wrong).replace('in "<unicode string>", ', "at ").split())
            raise FrontmatterError(f"its frontmatter is not readable YAML: {reason[:300]}") from None
    if loaded is None or loaded == "":
        return {}
    if not isinstance(loaded, dict):
        raise FrontmatterError("its frontmatter is not a list of key: value lines")
    return loaded


def _load(text: str) -> Any:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"nested more than {MAX_DEPTH} deep")
    return yaml.load(text, Loader=_LOADER)


def _quoted(text: str) -> str:
    """The same with every plain value quoted, the lines on which it goes on included."""
    lines = text.splitlines()
    result = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        key = _KEY_LINE.fullmatch(line)
        if key is None or key[3].startswith(_NOT_PLAIN):
            result.append(line)
            continue
        end = _end_of_value(lines, at, len(key[1]))
        if key[3].startswith(("|", ">")):
            result += [line, *lines[at:end]]
        else:
            value = " ".join(part.strip() for part in [key[3], *lines[at:end]] if part.strip())
            result.append(f"{key[1]}{key[2]}: '{value.replace(chr(39), chr(39) * 2)}'")
        at = end
    return "\n".join(result)


def _end_of_value(lines: list[str], at: int, indent: int) -> int:
    """The first line from `at` on that is not indented more than the key is."""
    while at < len(lines) and (not lines[at].strip() or lines[at].startswith(" " * (indent + 1))):
        at += 1
    return at
