"""The tools that a plan may use, as a model is told of them (pure)."""

import json
from collections.abc import Collection, Iterator

from skillfleet_workers.wire.published import PublishedSkill, Snapshot
from skillfleet_workers.wire.shown import short

DESCRIPTION_CHARS = 300
SCHEMA_CHARS = 1_000


def tool_list(
    snapshot: Snapshot | None, allowed: Collection[str] | None, disabled: Collection[str], budget: int
) -> str:
    """A line for each script of the skills that can run, at most `budget` characters. `allowed`: the only skills,
    None: all."""
    lines, used, omitted = [], 0, 0
    for name, skill in _usable(snapshot, allowed, disabled):
        told = list(_lines(name, skill))
        size = sum(map(len, told)) + len(told)
        if used + size > budget:
            omitted += 1
            continue
        lines += told
        used += size
    more = [f"({omitted} further skills have no room here.)"] if omitted else []
    return "\n".join([*(lines or ["(There are no tools.)"]), *more])


def _usable(
    snapshot: Snapshot | None, allowed: Collection[str] | None, disabled: Collection[str]
) -> Iterator[tuple[str, PublishedSkill]]:
    """By the names that they are to be called by."""
    names = {one.name for one in snapshot.skills} if snapshot else set()
    for name in sorted(names if allowed is None else allowed):
        skill = snapshot.find(name) if snapshot else None
        usable = skill and skill.eligible and not skill.hidden and skill.scripts
        if skill and usable and skill.name not in disabled:
            yield name, skill


def _lines(name: str, skill: PublishedSkill) -> Iterator[str]:
    yield f"- skill {name}: {short(skill.description, DESCRIPTION_CHARS)}"
    for script in skill.scripts:
        about = f": {short(script.description, DESCRIPTION_CHARS)}" if script.description else ""
        yield f"  - toolPath {json.dumps(f'{name}/{script.path}')}{about}"
        if skill.entry and skill.entry.script == script.path and skill.entry.parameters:
            yield f"    input schema: {short(json.dumps(skill.entry.parameters, ensure_ascii=False), SCHEMA_CHARS)}"
