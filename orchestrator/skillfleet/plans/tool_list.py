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
    for skill in _usable(snapshot, allowed, disabled):
        told = list(_lines(skill))
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
) -> Iterator[PublishedSkill]:
    for name in sorted({one.name for one in snapshot.skills} if snapshot else ()):
        skill = snapshot.find(name) if snapshot else None
        wanted = name not in disabled and (allowed is None or name in allowed)
        if skill and wanted and skill.eligible and not skill.hidden and skill.scripts:
            yield skill


def _lines(skill: PublishedSkill) -> Iterator[str]:
    yield f"- skill {skill.name}: {short(skill.description, DESCRIPTION_CHARS)}"
    for script in skill.scripts:
        about = f": {short(script.description, DESCRIPTION_CHARS)}" if script.description else ""
        yield f"  - toolPath {json.dumps(f'{skill.name}/{script.path}')}{about}"
        if skill.entry and skill.entry.script == script.path and skill.entry.parameters:
            yield f"    input schema: {short(json.dumps(skill.entry.parameters, ensure_ascii=False), SCHEMA_CHARS)}"
