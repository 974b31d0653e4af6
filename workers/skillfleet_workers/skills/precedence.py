"""Which skill holds where several have one name (pure)."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..wire.versions import order
from .models import Skill, Skipped
from .problems import Problem


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A skill at `root` that is not used, as the one at `by`, in a root before, has its name."""

    name: str
    root: Path
    by: Path

    @property
    def problem(self) -> Problem:
        message = f"the skill {self.name!r} in {self.root} is shadowed by the one in {self.by}"
        return Problem("shadowed", message, "Rename one of them, or remove the one that is not wanted.", ".")


@dataclass(frozen=True, slots=True)
class Arranged:
    """`versions` of each name, the highest last; names are sorted. `highest`: of each name."""

    versions: Mapping[str, tuple[Skill, ...]] = field(default_factory=dict)
    highest: tuple[Skill, ...] = ()
    skips: tuple[Skipped, ...] = ()
    shadowed: tuple[Shadowed, ...] = ()


def arranged(roots: Iterable[Sequence[Skill | Skipped]]) -> Arranged:
    """What was read of each root, the first shadowing the others. A folder that could not be read has its name too:
    whoever put it there meant it to hold."""
    holders: dict[str, Path] = {}
    skills: list[Skill] = []
    skips: list[Skipped] = []
    shadowed: list[Shadowed] = []
    for read in roots:
        here = sorted((each for each in read if _key(each.name) not in holders), key=lambda each: each.name)
        shadowed += [
            Shadowed(each.name, each.root, holders[_key(each.name)]) for each in read if _key(each.name) in holders
        ]
        held, refused = _one_root(here)
        skills += held
        skips += refused
        holders |= {_key(each.name): each.root for each in reversed(here)}
    versions = _by_name(skills)
    highest = tuple(skills[-1] for skills in versions.values())
    return Arranged(versions, highest, tuple(skips), tuple(shadowed))


def _one_root(here: Iterable[Skill | Skipped]) -> tuple[list[Skill], list[Skipped]]:
    """Sorted by name, and for one name in the order in which they were found."""
    first: dict[str, str] = {}
    versions: dict[tuple[str, str], Skill] = {}
    skips: list[Skipped] = []
    for each in here:
        holder = first.setdefault(_key(each.name), each.name)
        if isinstance(each, Skipped):
            skips.append(each)
        elif holder != each.name:
            why = f"its name differs from that of the skill {holder!r} only by case"
            skips.append(_refused(each, "case-twin", why))
        elif other := versions.get((each.name, each.version)):
            why = f"it has the name and the version of the skill in {other.root}"
            skips.append(_refused(each, "duplicate", why))
        else:
            versions[each.name, each.version] = each
    return list(versions.values()), skips


def _refused(skill: Skill, code: str, why: str) -> Skipped:
    return Skipped(skill.name, skill.root, (Problem(code, why, "Rename one of them.", ".", severity="error"),))


def _by_name(skills: Iterable[Skill]) -> dict[str, tuple[Skill, ...]]:
    named: dict[str, list[Skill]] = {}
    for skill in sorted(skills, key=lambda skill: (skill.name, order(skill.version))):
        named.setdefault(skill.name, []).append(skill)
    return {name: tuple(versions) for name, versions in named.items()}


def _key(name: str) -> str:
    """What file systems that do not tell case apart, or Unicode forms, would take for one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
