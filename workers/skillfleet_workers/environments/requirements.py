"""The forms in which Python code declares what it needs, and one normal form of them (pure)."""

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..wire.shown import short

_INLINE = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""PEP 723, the regular expression of its reference implementation."""

_COMMENT = re.compile(r"(^|\s+)#.*$")
_OPTION = re.compile(r"(--?[a-z-]+)(?:[\s=]+(.+))?")
_HASH = re.compile(r"--hash=[a-z0-9]+:[0-9a-f]+")
_REMOTE = ("https://", "http://", "git+https://", "git+ssh://")
_ARCHIVE = re.compile(r"\S+\.(whl|zip|tar\.gz|tgz|tar\.bz2)", re.IGNORECASE)

INDEXES = frozenset({"-i", "--index-url", "--extra-index-url"})
PASSED_ON = INDEXES | {"--no-index", "--pre", "--only-binary", "--no-binary", "--require-hashes"}
"""Options of requirements files that mean the same wherever the file lies."""


class RequirementsError(Exception):
    """A declaration that cannot be used; the message quotes it and says why."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What code asks for. None in `lines`: the declaration exists, but says nothing of packages."""

    lines: tuple[str, ...] | None
    requires_python: str | None = None


@dataclass(frozen=True, slots=True)
class Include:
    """`-r path`."""

    path: str


@dataclass(frozen=True, slots=True)
class Archive:
    """A wheel or a source archive by its path."""

    path: str


Line = str | Include | Archive


def inline_metadata(source: str) -> Declared | None:
    """PEP 723. None: the script has no such block.

    Raises:
        RequirementsError
    """
    source = source.replace("\r\n", "\n")
    blocks = [match for match in _INLINE.finditer(source) if match["type"] == "script"]
    if not blocks:
        return None
    if len(blocks) > 1:
        raise RequirementsError("it has more than one '# /// script' block")
    lines = blocks[0]["content"].splitlines()
    table = _toml("\n".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))
    return _declared(table)


def project_metadata(pyproject: str) -> Declared:
    """The [project] table of pyproject.toml.

    Raises:
        RequirementsError
    """
    project = _toml(pyproject).get("project", {})
    if not isinstance(project, dict):
        raise RequirementsError("'project' is not a table")
    return _declared(project)


def _declared(table: dict[str, Any]) -> Declared:
    lines, python = table.get("dependencies"), table.get("requires-python")
    if lines is not None and not (isinstance(lines, list) and all(isinstance(line, str) for line in lines)):
        raise RequirementsError("'dependencies' is not a list of strings")
    if python is not None and not isinstance(python, str):
        raise RequirementsError("'requires-python' is not a string")
    return Declared(None if lines is None else tuple(lines), python)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as wrong:
        raise RequirementsError(f"it is not valid TOML: {wrong}") from None


def parsed_lines(text: str) -> list[Line]:
    """The lines of a requirements file in normal form, included files and local archives set apart.

    Raises:
        RequirementsError
    """
    joined = text.replace("\r\n", "\n").replace("\\\n", " ")
    lines = (_COMMENT.sub("", line).strip() for line in joined.splitlines())
    return [_option(line) if line.startswith("-") else parsed(line) for line in lines if line]


def parsed(line: str) -> str | Archive:
    """Raises: RequirementsError"""
    line = line.replace("\t", " ").strip()
    quoted = repr(short(line, 200))
    if not line.isprintable():
        raise RequirementsError(f"{quoted} is not one line of text")
    if "${" in line:
        raise RequirementsError(f"{quoted}: variables are not expanded")
    if "://" not in line and _ARCHIVE.fullmatch(line):
        return Archive(line)
    text, *hashes = re.split(r" +(?=--hash=)", line)
    if not all(map(_HASH.fullmatch, hashes)):
        raise RequirementsError(f"{quoted}: no hash looks like that")
    try:
        requirement = Requirement(text)
    except InvalidRequirement as wrong:
        reason = str(wrong).partition("\n")[0]
        raise RequirementsError(f"{quoted} is no requirement: {reason}") from None
    if requirement.url and not requirement.url.startswith(_REMOTE):
        raise RequirementsError(f"{quoted}: only {', '.join(_REMOTE)} are fetched from")
    requirement.name = canonicalize_name(requirement.name)
    return " ".join([str(requirement), *sorted(hashes)])


def _option(line: str) -> Line:
    match = _OPTION.fullmatch(line)
    name, value = match.groups() if match else (line, None)
    quoted = repr(short(line, 200))
    if name in ("-r", "--requirement") and value:
        return Include(value)
    if name in ("-e", "--editable"):
        raise RequirementsError(f"{quoted}: leave it out, the skill's folder is importable as it is")
    if name not in PASSED_ON or "${" in line:
        raise RequirementsError(f"{quoted} is not supported here")
    if name in INDEXES and not (value or "").startswith(_REMOTE):
        raise RequirementsError(f"{quoted}: an index is at {' or '.join(_REMOTE[:2])}")
    return f"{name} {value}" if value else name
