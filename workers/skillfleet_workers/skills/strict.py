"""Whether a folder is a skill by the letter of the standard: the verdict of the reference validator, skills-ref, with
lines and fixes. Where it differs: a SKILL.md that cannot be read within our bounds, or lies outside its folder, is
invalid."""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import strictyaml
import yaml
from strictyaml import ruamel
from strictyaml.parser import StrictYAMLLoader

from ..wire.json_schemas import size
from ..wire.shown import short
from .declared_values import MAX_COMPATIBILITY
from .files import HEAD_BYTES, JSON_BYTES, bounded
from .manifest import MANIFEST, MANIFEST_REQUIRED, MANIFEST_RULES, checked, manifest_source
from .problems import Problem, problem
from .skill_md import MAX_DESCRIPTION, MAX_NAME
from .sources import Source, shown
from .yaml_trees import YamlTree, yaml_tree

SPELLINGS = ("SKILL.md", "skill.md")
ALLOWED = ("name", "description", "license", "allowed-tools", "metadata", "compatibility")
MAX_SKILL_MD_BYTES = 10_485_760

MAX_EXACT = 300
"""A document with more values is only parsed by strictyaml: the time of its second pass grows with their square."""

MAX_UNKNOWN = 20
"""More unknown fields are not told."""

_FENCE = "---"

# What strictyaml is known to fail with on YAML that it does not expect; to the reference such a file is invalid too.
_CRASHES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


class _InvalidError(Exception):
    def __init__(self, told: Problem) -> None:
        super().__init__(told.message)
        self.problem = told


def strict_problems(folder: Path) -> tuple[Problem, ...]:
    """All errors; none exactly when the folder is a skill by the standard."""
    root = Path(os.path.realpath(folder))
    if not root.is_dir():
        return (problem("folder-missing", f"{shown(str(folder))} is no folder", ".", severity="error"),)
    name = Path(os.path.abspath(folder)).name  # noqa: PTH100 - resolve() would follow a link, which has the name
    with_manifest = os.path.lexists(root / MANIFEST)
    file = next((spelling for spelling in SPELLINGS if (root / spelling).exists()), None)
    if file is None and with_manifest and not _has_documentation(root):
        return tuple(_errors(_manifest_problems(root, None)))
    try:
        source = _source(root, file)
    except _InvalidError as wrong:
        return tuple(_errors([wrong.problem]))
    _check(source, name)
    beside = _manifest_problems(root, source) if with_manifest else ()
    return tuple(_errors([*source.problems, *beside]))


def _errors(problems: list[Problem] | tuple[Problem, ...]) -> Iterator[Problem]:
    return (replace(found, severity="error") for found in problems)


def _has_documentation(root: Path) -> bool:
    return any(entry.name.lower() == SPELLINGS[1] for entry in root.iterdir())


def _source(root: Path, file: str | None) -> Source:
    if file is None:
        message = f"there is no file {SPELLINGS[0]}" + (", spelled like this" if _has_documentation(root) else "")
        raise _InvalidError(problem("skill-md-missing", message, SPELLINGS[0]))
    data = bounded(root, file, MAX_SKILL_MD_BYTES)
    if isinstance(data, Problem):
        raise _InvalidError(data)
    text = _frontmatter(data, file)
    try:
        fields = _loaded(text)
    except (ruamel.YAMLError, *_CRASHES) as wrong:
        raise _InvalidError(_not_strict(wrong, file)) from None
    if not isinstance(fields, dict):
        raise _InvalidError(problem("frontmatter-not-a-map", "the frontmatter is no map of keys to values", file, 1))
    return Source(file, fields, _tree(text))


def _frontmatter(data: bytes, file: str) -> str:
    """What stands between the first two `---`, wherever they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise _InvalidError(problem("not-utf8", "the file is not UTF-8", file, line)) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.startswith(_FENCE):
        raise _InvalidError(problem("frontmatter-missing", f"the file does not start with {_FENCE}", file, 1))
    parts = text.split(_FENCE, 2)
    if len(parts) < 3:
        raise _InvalidError(problem("frontmatter-unclosed", f"the frontmatter is not closed with {_FENCE}", file, 1))
    if len(parts[1]) > HEAD_BYTES:
        message = f"the frontmatter is longer than {HEAD_BYTES} characters"
        raise _InvalidError(problem("file-too-large", message, file, 1))
    return parts[1]


def _loaded(text: str) -> Any:
    """Raises: ruamel.YAMLError, or one of _CRASHES"""
    loader = type("Loader", (StrictYAMLLoader,), {"label": "frontmatter", "allow_flow_style": False})
    fields = ruamel.load(text, Loader=loader)
    return fields if size(fields, MAX_EXACT) > MAX_EXACT else strictyaml.load(text).data


def _not_strict(wrong: Exception, file: str) -> Problem:
    mark, reason = None, f"it cannot be read ({type(wrong).__name__})"
    if isinstance(wrong, ruamel.error.MarkedYAMLError) and not isinstance(wrong, strictyaml.YAMLValidationError):
        mark, reason = wrong.problem_mark or wrong.context_mark, short(wrong.problem or reason, 300)
    message = f"the frontmatter is not the plain YAML of the standard: {reason}"
    return problem("frontmatter-not-strict", message, file, mark.line + 1 if mark else None)


def _tree(text: str) -> YamlTree:
    """For the lines; what strictyaml accepts and this does not has none."""
    try:
        return yaml_tree(text)
    except yaml.YAMLError:
        return YamlTree()


def _check(source: Source, folder: str) -> None:
    unknown = (field for field in source.fields if field not in ALLOWED)
    for field in islice(unknown, MAX_UNKNOWN):
        message = f"{shown(field)} is no field of the standard: {', '.join(ALLOWED)}"
        source.wrong("field-not-allowed", message, (str(field),))
    _check_name(source, folder)
    description = source.fields.get("description")
    if not isinstance(description, str) or not description.strip():
        source.wrong("description-missing", "the description is missing or no text", ("description",))
    elif len(description) > MAX_DESCRIPTION:
        message = f"the description has {len(description)} characters, {MAX_DESCRIPTION} are allowed"
        source.wrong("description-too-long", message, ("description",))
    compatibility = source.fields.get("compatibility", "")
    if not isinstance(compatibility, str):
        source.wrong("not-a-text", "compatibility is no text", ("compatibility",))
    elif len(compatibility) > MAX_COMPATIBILITY:
        message = f"compatibility has {len(compatibility)} characters, {MAX_COMPATIBILITY} are allowed"
        source.wrong("compatibility-too-long", message, ("compatibility",))


def _check_name(source: Source, folder: str) -> None:
    told = source.fields.get("name")
    if not isinstance(told, str) or not told.strip():
        source.wrong("name-missing", "the name is missing or no text", ("name",))
        return
    name = unicodedata.normalize("NFKC", told.strip())
    wrong = {
        f"has {len(name)} characters, {MAX_NAME} are allowed": len(name) > MAX_NAME,
        "is not in lower case": name != name.lower(),
        "starts or ends with a hyphen": name.startswith("-") or name.endswith("-"),
        "has two hyphens in a row": "--" in name,
        "has other characters than letters, digits and hyphens": not all(c.isalnum() or c == "-" for c in name),
    }
    for what in (what for what, is_so in wrong.items() if is_so):
        source.wrong("name-invalid", f"the name {shown(told)} {what}", ("name",))
    if name != unicodedata.normalize("NFKC", folder):
        source.wrong("name-differs", f"the name is {shown(told)}, the folder's is {shown(folder)}", ("name",))


def _manifest_problems(root: Path, documented: Source | None) -> list[Problem]:
    """By the rules of skill.json; beside SKILL.md it must not contradict it either."""
    data = bounded(root, MANIFEST, JSON_BYTES)
    if isinstance(data, Problem):
        return [data]
    source = manifest_source(data)
    if source.problems:
        return source.problems
    checked(source, MANIFEST_RULES, MANIFEST_REQUIRED)
    for code, field, place in (("name-differs", "name", "name"), ("version-differs", "version", "metadata.version")):
        here, there = source.said(field), documented.said(place) if documented else None
        if here and there and here.value != there.value:
            message = f"the {field} is {shown(here.value)} here and {shown(there.value)} in {there.source.file}"
            source.wrong(code, message, (field,))
    return source.problems
