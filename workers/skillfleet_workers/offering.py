"""What a worker offers of its catalog: which skills it can run now, how healthy they are, and what it publishes."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .skills.catalog import SkillCatalog
from .skills.digests import digest_of
from .skills.eligibility import Host, why_not
from .skills.health import HealthBoard
from .skills.lockfile import LockfileError, verify
from .skills.models import Skill
from .skills.overrides import Overrides
from .skills.publishing import Publishing
from .skills.registry import Registry
from .skills.routes import route_of
from .wire.contract import ToolError
from .wire.execution import ScriptExecution
from .wire.published import Snapshot
from .wire.shown import short
from .wire.versions import SEPARATOR

Told = Callable[[ScriptExecution | ToolError], None]


class Offering:
    """`keep`: makes sure that a skill can be found again in the state that it is in now, which it names. Safe to
    share between threads."""

    def __init__(
        self, catalog: SkillCatalog, overrides: Overrides, host: Host, keep: Callable[[Skill], str] | None = None
    ) -> None:
        self._catalog, self._overrides, self._host = catalog, overrides, host
        self._board = HealthBoard()
        self._keep = keep or catalog.digest_of
        self._publishing = Publishing(catalog, self.why_not, route_of, self._state)
        self._seen: tuple[int, Registry, Mapping[Path, str], Mapping[str, str]] | None = None
        self._published: Mapping[tuple[str, str], str] = {}
        """By name and version: the digest."""
        self._listed: Mapping[str, str] = {}
        """By name: the version that the name alone stands for."""

    def why_not(self, skill: Skill, digest: str = "") -> str | None:
        """None: it can run here. `digest`: of a copy, that lies elsewhere than what it was made of."""
        if forbidden := self.forbidden(skill, digest):
            return forbidden
        known_as = self._known_as(skill, digest)
        if known_as and self._board.state(known_as) == "permanentFailure":
            return "it broke time and again on this worker, and is not tried any more"
        registry, _, _ = self._look()
        return why_not(skill, self._host, self._overrides.of(skill.name), registry, self._overrides.of)

    def forbidden(self, skill: Skill, digest: str = "") -> str | None:
        """Why nothing of it is to run here, be it that the host has all that it needs."""
        override = self._overrides.of(skill.name)
        return self._changed_since(skill, digest) or (None if override.enabled else override.reason)

    def refusal(self, skill: Skill, digest: str) -> ToolError | None:
        """Of a call that would run something of the skill; None: nothing is against it."""
        return _refusal(skill, self.why_not(skill, digest))

    def prohibition(self, skill: Skill, digest: str) -> ToolError | None:
        """Of a hook of the skill, which may well run where the skill lacks something."""
        return _refusal(skill, self.forbidden(skill, digest))

    @contextmanager
    def run(
        self, skill: Skill, digest: str = "", *, own_script: bool, own_environment: bool, own_timeout: bool = True
    ) -> Iterator[ToolError | Told]:
        """Around a call: the refusal of a skill that is broken, else who is to be told what the call came to. For the
        flags see `outcome_of`."""
        known_as = self._known_as(skill, digest)
        if known_as is None:
            yield lambda _: None
            return
        began = time.monotonic()
        if refused := self._board.refusal(known_as, began):
            yield refused
            return
        results: list[ScriptExecution | ToolError] = []
        try:
            yield results.append
        finally:
            now = time.monotonic()
            if results:
                flags = {"own_script": own_script, "own_environment": own_environment, "own_timeout": own_timeout}
                self._board.observe(known_as, results[-1], began, now, **flags)
            else:  # what it came to is not known, but a call that was let through to try is told of all the same
                self._board.record(known_as, None, "", 0.0, now, began=began)

    def snapshot(self) -> Snapshot:
        """Of what is there now; what is new, or was turned on again, starts in good health."""
        found = self._publishing.snapshot()
        self._published = {(one.name, one.version): one.digest for one in found.skills}
        self._listed = {skill.name: skill.version for skill in self._catalog.list()}
        for one in found.skills:
            mark = f"{one.digest} {self._overrides.of(one.name).enabled_at}"
            self._board.renew(self._label(one.name, one.version), mark)
        return found

    def health(self) -> dict[str, str]:
        """Of the skills that are not healthy."""
        return dict(self._board.states(self._catalog.list()))

    def _known_as(self, skill: Skill, digest: str) -> str | None:
        """By what its health is known; None: in a state in which it was before, it tells nothing of it now."""
        now = self._published.get((skill.name, skill.version), digest)
        return self._label(skill.name, skill.version) if digest in ("", now) else None

    def _label(self, name: str, version: str) -> str:
        return name if self._listed.get(name, version) == version else f"{name}{SEPARATOR}{version}"

    def _state(self, skill: Skill) -> str:
        """There are no copies of what was not installed like that: they would outlive its repair."""
        return self._catalog.digest_of(skill) if self._changed_since(skill) else self._keep(skill)

    def _changed_since(self, skill: Skill, digest: str = "") -> str | None:
        """How it differs from what was installed."""
        _, folders, digests = self._look()
        return folders.get(skill.root) or folders.get(skill.root.parent) or digests.get(digest)

    def _look(self) -> tuple[Registry, Mapping[Path, str], Mapping[str, str]]:
        generation = self._catalog.generation
        seen = self._seen
        if seen is None or seen[0] != generation:
            folders = self._changed()
            digests = {
                self._catalog.digest_of(skill): reason
                for skill in self._catalog.versions
                if (reason := folders.get(skill.root) or folders.get(skill.root.parent))
            }
            seen = self._seen = generation, Registry(self._catalog.versions), folders, digests
        return seen[1:]

    def _changed(self) -> dict[Path, str]:
        """By folder: of a skill that is not what was installed, or of a root whose lock cannot be read."""
        changed: dict[Path, str] = {}
        for root in self._catalog.roots:
            folder = root.path.resolve()
            try:
                # A symlink may have taken its place.
                changed |= {(folder / name).resolve(): reason for name, reason in verify(folder, digest_of).items()}
            except LockfileError as unreadable:
                changed[folder] = str(unreadable)
        return changed


def _refusal(skill: Skill, why: str | None) -> ToolError | None:
    if why is None:
        return None
    return ToolError(
        error="skill_not_eligible",
        message=f"The skill {short(skill.name)!r} cannot run on this worker: {why.rstrip('.')}.",
        fix="Go about it without this skill, or tell the user what it lacks.",
    )
