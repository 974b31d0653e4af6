"""Which of a skill's declarations holds: the first that exists."""

import hashlib
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from ..skills.models import Skill
from ..skills.paths import open_inside
from ..wire.contract import ToolError
from . import requirements
from .requirements import Archive, Declared, Include, Line, RequirementsError

INLINE = "the script's '# /// script' block"
PROJECT = "pyproject.toml"
FILE = "requirements.txt"
SKILL_MD = "metadata.skillfleet.requirements in SKILL.md"

MAX_DECLARATION_BYTES = 1_048_576
_VENVS = ("venv", ".venv")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What must be installed: the lines of a requirements file, in normal form.

    `digests` stand for the content of the local archives among them. `wheels_only`: nothing may be built, as
    building runs code of the package outside of any sandbox.
    """

    origin: str = ""
    lines: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    wheels_only: bool = False


def existing_venv(skill: Skill) -> Path | ToolError | None:
    """The interpreter of the environment that the skill brings along."""
    for name in _VENVS:
        if not (skill.root / name).is_dir():
            continue
        for python in ("python", "python3"):
            interpreter = skill.root / name / "bin" / python
            if interpreter.is_file() and os.access(interpreter, os.X_OK):
                return interpreter
        return ToolError(
            error="broken_venv",
            message=f"The skill {skill.name!r} has a folder {name}/ without a Python interpreter that runs.",
            fix=f"Make it anew on the workers' machines, or remove {name}/ and declare the requirements.",
        )
    return None


def wanted(skill: Skill, source: str | None) -> Wanted | ToolError:
    """`source` is the script that will run, if it is known."""
    origin = INLINE
    try:
        if source is not None and (inline := requirements.inline_metadata(source)):
            _check_python(inline)
            if inline.lines is not None:
                return Wanted(INLINE, _from_index(inline.lines), wheels_only=True)
        origin = PROJECT
        if (text := _text(skill, PROJECT)) is not None:
            project = requirements.project_metadata(text)
            _check_python(project)
            if project.lines is not None:
                return _resolved(skill, PROJECT, list(map(requirements.parsed, project.lines)))
        origin = FILE
        if (text := _text(skill, FILE)) is not None:
            return _resolved(skill, FILE, requirements.parsed_lines(text))
        origin = SKILL_MD
        return _resolved(skill, SKILL_MD, list(map(requirements.parsed, skill.requirements)))
    except RequirementsError as wrong:
        return ToolError(
            error="bad_requirements",
            message=f"The requirements of {skill.name!r} in {origin} cannot be used: {wrong}.",
            fix=f"Correct {origin}.",
        )


def _from_index(lines: tuple[str, ...]) -> tuple[str, ...]:
    """A script may have been written by a model a moment ago: it gets packages of the index, nothing else."""
    parsed = [requirements.parsed(line) for line in lines]
    for line, requirement in zip(lines, parsed, strict=True):
        if isinstance(requirement, Archive) or "@" in requirement:
            raise RequirementsError(f"{line!r}: a script can only ask for packages by name")
    return tuple(sorted({str(requirement) for requirement in parsed}))


def _check_python(declared: Declared) -> None:
    asked, has = declared.requires_python, platform.python_version()
    if asked is None:
        return
    try:
        suits = SpecifierSet(asked).contains(has, prereleases=True)
    except InvalidSpecifier:
        raise RequirementsError(f"requires-python {asked!r} is not a version range") from None
    if not suits:
        raise RequirementsError(f"it asks for Python {asked}, the worker has {has}")


def _resolved(skill: Skill, origin: str, parsed: Sequence[Line]) -> Wanted:
    lines, digests = list[str](), set[str]()
    for item, folder in _flattened(skill, parsed, PurePosixPath(), {origin}):
        if isinstance(item, str):
            lines.append(item)
            continue
        path = str(folder / item.path)
        with _opened(skill, path) as file:
            digests.add(hashlib.file_digest(file, "sha256").hexdigest())
        lines.append((skill.root / path).as_uri())
    # The order of options matters (the first index that has a package wins), that of requirements doesn't.
    options = dict.fromkeys(line for line in lines if line.startswith("-"))
    return Wanted(origin, (*options, *sorted(set(lines) - set(options))), tuple(sorted(digests)))


def _flattened(
    skill: Skill, parsed: Sequence[Line], folder: PurePosixPath, seen: set[str]
) -> Iterator[tuple[str | Archive, PurePosixPath]]:
    """Every item with the folder that its path is relative to; each included file once."""
    for item in parsed:
        if not isinstance(item, Include):
            yield item, folder
            continue
        path = folder / item.path
        if str(path) in seen:
            continue
        seen.add(str(path))
        included = requirements.parsed_lines(_read(skill, str(path)))
        yield from _flattened(skill, included, path.parent, seen)


def _text(skill: Skill, path: str) -> str | None:
    return _read(skill, path) if os.path.lexists(skill.root / path) else None


def _read(skill: Skill, path: str) -> str:
    with _opened(skill, path) as file:
        return file.read(MAX_DECLARATION_BYTES).decode("utf-8-sig", "replace")


def _opened(skill: Skill, path: str) -> BufferedReader:
    file = open_inside(skill.root, path)
    if isinstance(file, ToolError):
        raise RequirementsError(file.message.rstrip("."))
    return file
