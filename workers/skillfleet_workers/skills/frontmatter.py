"""The YAML at the head of SKILL.md, read leniently (pure)."""

import re
from dataclasses import dataclass

import yaml

from ..wire.shown import short
from .yaml_trees import YamlTree, yaml_tree

_BLOCK = re.compile(rb"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(rb"---[ \t]*(?:\r?\n|\Z)")
_FENCE = b"---"
_BOM = b"\xef\xbb\xbf"

_KEY_LINE = re.compile(r"( *)([\w.-]+):[ \t]+(\S.*)")
# YAML 1.2 knows no line ends but these; our reader of YAML 1.1 takes the others for some too.
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_LINE_END = re.compile("[\x85\u2028\u2029]")
_NOT_PLAIN = ("'", '"', "[", "{", "&", "*", "!", "#")


FIRST_LINE = 2
"""Of the fields; the first is the opening ---."""


class FrontmatterError(Exception):
    """The frontmatter cannot be read; the message says why, `code` and `line` are those of its Problem."""

    def __init__(self, code: str, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.code, self.line = code, line


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """`tree` None: there is none. The body starts at the byte `body_offset`."""

    tree: YamlTree | None
    body_offset: int


def split(head: bytes) -> Frontmatter:
    """Between lines of ---; where that gives nothing, between any two ---, as the format's reference reader has it.

    Raises:
        FrontmatterError: it is there, but cannot be read.
    """
    try:
        found = _between_lines(head)
    except FrontmatterError:
        if loose := _between_any(head):
            return loose
        raise
    return found if found.tree else _between_any(head) or found


def _between_any(head: bytes) -> Frontmatter | None:
    before, *parts = head.split(_FENCE, 2)
    if before or len(parts) < 2:
        return None
    text = parts[0].decode("utf-8", "replace")
    try:
        # The first line end stands in it: what follows has the same lines as between lines of ---.
        tree = _mapping(text.removeprefix("\r").removeprefix("\n"))
    except FrontmatterError:
        return None
    whole = {"name", "description"} <= tree.value.keys()
    return Frontmatter(tree, len(head) - len(parts[1])) if whole else None


def _between_lines(head: bytes) -> Frontmatter:
    start = len(_BOM) if head.startswith(_BOM) else 0
    if not _OPENING.match(head, start):
        return Frontmatter(None, start)
    block = _BLOCK.match(head, start)
    if block is None:
        raise FrontmatterError("frontmatter-unclosed", "its frontmatter is not closed with a line of ---")
    return Frontmatter(_mapping(block[1].decode("utf-8", "replace")), block.end())


def _mapping(text: str) -> YamlTree:
    try:
        tree = yaml_tree(text, FIRST_LINE)
    except yaml.YAMLError as wrong:
        mended = next((found for way in _WAYS if (found := _tried(way(text)))), None)
        if mended is None:
            raise _unreadable(wrong) from None
        tree = mended
    if tree.value is None or tree.value == "":
        return YamlTree({}, FIRST_LINE)
    if not isinstance(tree.value, dict):
        message = "its frontmatter is not a list of key: value lines"
        raise FrontmatterError("frontmatter-not-a-map", message, FIRST_LINE)
    return tree


def _tried(text: str) -> YamlTree | None:
    try:
        return yaml_tree(text, FIRST_LINE)
    except yaml.YAMLError:
        return None


def _unreadable(wrong: yaml.YAMLError) -> FrontmatterError:
    mark = getattr(wrong, "problem_mark", None)
    reason = getattr(wrong, "problem", None) or short(wrong, 300)
    line = mark.line + FIRST_LINE if mark else FIRST_LINE
    return FrontmatterError("frontmatter-not-yaml", f"its frontmatter is not readable YAML: {reason}", line)


def _quoted(text: str) -> str:
    """The same with every plain value quoted, the lines on which it goes on included; no line moves."""
    lines = _LINE_END.split(text)
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
            quoted = value.replace("'", "''")
            result += [f"{key[1]}{key[2]}: '{quoted}'", *[""] * (end - at)]
        at = end
    return "\n".join(result)


def _end_of_value(lines: list[str], at: int, indent: int) -> int:
    """The first line from `at` on that is not indented more than the key is."""
    while at < len(lines) and (not lines[at].strip() or lines[at].startswith(" " * (indent + 1))):
        at += 1
    return at


def _with_blanks(text: str) -> str:
    return _NO_LINE_END.sub(" ", text)


_WAYS = (_quoted, _with_blanks)
"""To mend what cannot be read as it is; the first that helps is taken."""
