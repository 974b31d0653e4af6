"""A skill is folded together from what its folder's files, and the registry, say of it (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .models import NO_DESCRIPTION, NO_VERSION, Format, Skill, Skipped
from .problems import Problem, problem
from .sources import shown


@dataclass(frozen=True, slots=True)
class Part:
    """`values`: fields of a Skill. `must_describe`: a skill with this part is none without a description."""

    format: Format
    file: str
    values: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    must_describe: bool = False


def folded(bare: Skill, parts: Sequence[Part], pinned: str | None = None) -> Skill | Skipped:
    """What a later part says counts, but for the description: there it is the earlier, and the registry comes last.
    `pinned`: the version that the folder's name or the registry gives it."""
    problems = bare.problems + tuple(problem for part in parts for problem in part.problems)
    describing = sorted(parts, key=lambda part: part.format == "registry")
    described = [part.values["description"] for part in describing if part.values.get("description")]
    mute = next((part for part in parts if part.must_describe), None)
    if any(found.severity == "error" for found in problems):
        return Skipped(bare.name, bare.root, problems)
    if mute and not described:
        missing = problem("description-missing", "it has no description", mute.file, 1, "error")
        return Skipped(bare.name, bare.root, (*problems, missing))
    values = {name: value for part in parts for name, value in part.values.items()}
    values["description"] = described[0] if described else NO_DESCRIPTION
    values["version"], clashes = _version(parts, pinned)
    formats: tuple[Format, ...] = tuple(part.format for part in parts) or ("bare",)
    return replace(bare, **values, formats=formats, problems=problems + clashes)


def _version(parts: Sequence[Part], pinned: str | None) -> tuple[str, tuple[Problem, ...]]:
    declared = [(part.values["version"], part.file) for part in parts if "version" in part.values]
    chosen = pinned or (declared[-1][0] if declared else NO_VERSION)
    clashes = (
        problem("version-differs", f"the version is {shown(version)} here, but {shown(chosen)} holds", file)
        for version, file in declared
        if version != chosen
    )
    return chosen, tuple(clashes)
