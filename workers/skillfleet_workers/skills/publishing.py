"""What a worker's skills look like to the fleet."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ..wire.published import Entry, PublishedScript, PublishedSkill, Snapshot
from ..wire.shown import short
from .catalog import SkillCatalog
from .entries import entry_for
from .models import Skill
from .roots import Root
from .scripts import scripts_of

WhyNot = Callable[[Skill], str | None]
RouteOf = Callable[[Skill], str]
Keep = Callable[[Skill], str]
Run = Callable[[Skill], Entry | None]
Scripts = Callable[[Skill], tuple[PublishedScript, ...]]

MAX_SCRIPTS, DESCRIPTION_CHARS = 20, 200
"""So many scripts of a skill are told, and of each so much: every conversation's skills are kept with them."""


def told_scripts(skill: Skill) -> tuple[PublishedScript, ...]:
    first = scripts_of(skill)[:MAX_SCRIPTS]
    return tuple(
        PublishedScript(path=str(one.path), description=short(one.description, DESCRIPTION_CHARS)) for one in first
    )


def snapshot_of(
    catalog: SkillCatalog,
    why_not: WhyNot,
    route_of: RouteOf,
    keep: Keep,
    run: Run = entry_for,
    scripts: Scripts = told_scripts,
) -> Snapshot:
    """`why_not`: the reason why this worker cannot run a skill; `keep`: the digest of the state it is in; `run`: how
    it runs without a model; `scripts`: what it brings along."""
    roots = [(root, Path(os.path.realpath(root.path))) for root in catalog.roots]
    return Snapshot(
        skills=tuple(
            PublishedSkill(
                name=skill.name,
                version=skill.version,
                digest=keep(skill),
                description=skill.description,
                location=_location(skill, roots),
                tags=skill.tags,
                hidden=skill.disable_model_invocation,
                eligible=(why := why_not(skill)) is None,
                reason=why or "",
                route=route_of(skill),
                entry=run(skill),
                scripts=scripts(skill),
            )
            for skill in catalog.versions
        )
    )


class Publishing:
    """The same again and again: files are looked at only where the catalog says that they may have changed."""

    def __init__(self, catalog: SkillCatalog, why_not: WhyNot, route_of: RouteOf, keep: Keep) -> None:
        self._catalog, self._why_not, self._route_of, self._keep = catalog, why_not, route_of, keep
        self._generation = 0
        self._digests: dict[tuple[str, Path], str] = {}
        self._entries: dict[tuple[str, Path], tuple[Entry | None, tuple[PublishedScript, ...]]] = {}
        self._last = Snapshot()

    def snapshot(self) -> Snapshot:
        generation = self._catalog.generation
        if generation != self._generation:
            self._generation, self._digests, self._entries = generation, {}, {}
        found = snapshot_of(self._catalog, self._why_not, self._route_of, self._digest, self._entry, self._scripts)
        if found != self._last:  # whose id is known
            self._last = found
        return self._last

    def _digest(self, skill: Skill) -> str:
        key = skill.name, skill.root
        known = self._digests.get(key)
        if known is None:
            known = self._digests[key] = self._keep(skill)
        return known

    def _entry(self, skill: Skill) -> Entry | None:
        return self._runnable(skill)[0]

    def _scripts(self, skill: Skill) -> tuple[PublishedScript, ...]:
        return self._runnable(skill)[1]

    def _runnable(self, skill: Skill) -> tuple[Entry | None, tuple[PublishedScript, ...]]:
        key = skill.name, skill.root
        if key not in self._entries:
            self._entries[key] = entry_for(skill), told_scripts(skill)
        return self._entries[key]


def _location(skill: Skill, roots: Iterable[tuple[Root, Path]]) -> str:
    """`<scope>/<place under the root>/SKILL.md`, as every worker has it, wherever its roots are."""
    place = next((skill.root.relative_to(path) for _, path in roots if skill.root.is_relative_to(path)), skill.root)
    return "/".join([skill.scope, str(place), *([skill.documentation] if skill.documentation else [])])
