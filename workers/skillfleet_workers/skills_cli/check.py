"""skills validate: what is wrong with skill folders, each problem with its place and its fix."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..skills.choosing import skill_folders
from ..skills.models import Skill
from ..skills.problems import Problem
from ..skills.reading import marks_skill, read_skill
from ..skills.strict import strict_problems
from .told import FAILED, Json, say, say_json, say_problems

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...", help="A skill's folder or SKILL.md, or a folder of skills.", show_default=False
    ),
]


@dataclass(frozen=True, slots=True)
class Verdict:
    path: str
    valid: bool
    problems: tuple[Problem, ...]


def validate(
    paths: Paths,
    strict: Annotated[bool, typer.Option("--strict", help="By the letter of the Agent Skills standard.")] = False,
    as_json: Json = False,
) -> int:
    """Check skill folders. Without --strict, valid is what loads here and has no error."""
    verdicts = [verdict for path in paths for verdict in _verdicts(path, strict)]
    if as_json:
        say_json([
            {"path": one.path, "valid": one.valid, "problems": [problem.as_json() for problem in one.problems]}
            for one in verdicts
        ])  # fmt: skip
    else:
        for one in verdicts:
            say(f"{one.path}: {'valid' if one.valid else 'invalid'}")
            say_problems(one.problems)
    return 0 if all(one.valid for one in verdicts) else FAILED


def _verdicts(given: str, strict: bool) -> list[Verdict]:
    path = Path(given)
    if not given.strip():
        return [_invalid(path, "not-found", "its path is empty", "Name a folder.")]
    folder = path.parent if path.is_file() and marks_skill([path.name]) else path
    if not folder.exists():
        return [_invalid(path, "not-found", "there is no such file or folder", "Name one that exists.")]
    if not folder.is_dir():
        return [_invalid(path, "no-skill", "it is no skill's folder or SKILL.md", "Name the skill's folder.")]
    try:
        folders = skill_folders(folder) or ((folder,) if strict else ())
        if not folders:
            fix = "Write a SKILL.md; `skillfleet skills new` shows what belongs in it."
            return [_invalid(path, "no-skill", "it holds no skill", fix)]
        return [_verdict(one, strict) for one in folders]
    except OSError as failed:
        return [_invalid(path, "unreadable", f"it cannot be read: {failed.strerror}", "Allow it to be read.")]


def _verdict(folder: Path, strict: bool) -> Verdict:
    real = Path(os.path.realpath(folder))
    if strict:
        problems = strict_problems(real)
        return Verdict(str(folder), not problems, problems)
    read = read_skill(real)
    errors = [problem for problem in read.problems if problem.severity == "error"]
    return Verdict(str(folder), isinstance(read, Skill) and not errors, read.problems)


def _invalid(path: Path, code: str, message: str, fix: str) -> Verdict:
    return Verdict(str(path), False, (Problem(code, message, fix, ".", severity="error"),))
