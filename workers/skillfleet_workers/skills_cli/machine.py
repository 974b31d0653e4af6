"""The skills of this machine as a worker here sees them, with no fleet."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from ..script_calls import CLEAN_PATH
from ..settings import WorkerSettings
from ..skills.catalog import SkillCatalog
from ..skills.digests import digest_of
from ..skills.eligibility import why_not
from ..skills.lockfile import LockedSkill, LockfileError, read_lock, verify
from ..skills.models import Skill
from ..skills.overrides import Overrides
from ..skills.registry import Registry
from ..skills.roots import roots_of
from ..skills.this_host import this_host
from ..wire.connection import load_settings
from .told import UsageError, complain, unknown_skill

HEALTHY, DEGRADED = "healthy", "degraded"
CONFIG_INVALID = "config-invalid"
UNKNOWN = ("unknown_skill", "invalid_skill_name")


class Machine:
    def __init__(self) -> None:
        """Raises: SettingsError"""
        self.settings = load_settings(WorkerSettings)
        self.roots = roots_of(self.settings)
        self.catalog = SkillCatalog(self.roots)
        self.overrides = Overrides(self.settings.skills_config)
        self._host = this_host(CLEAN_PATH, self.settings.worker_queues)

    def root(self, user: bool) -> Path:
        return next(root.path for root in self.roots if root.scope == ("user" if user else "project"))

    def find(self, name: str) -> Skill:
        """`name`, or `name@version`. Raises: UsageError"""
        found = self.catalog.find(name)
        if isinstance(found, Skill):
            return found
        if found.error in UNKNOWN:
            raise unknown_skill(name, self.names)
        raise UsageError(found.message.rstrip("."))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(skill.name for skill in self.catalog.versions)

    def reason(self, skill: Skill) -> str:
        """Why it cannot run here; empty: it can."""
        if changed := self._changed.get(skill.root) or self._changed.get(skill.root.parent):
            return changed
        override = self.overrides.of(skill.name)
        return why_not(skill, self._host, override, self._registry, self.overrides.of) or ""

    def health(self, skill: Skill) -> str:
        return DEGRADED if any(problem.code == CONFIG_INVALID for problem in skill.problems) else HEALTHY

    def locked(self, skill: Skill) -> LockedSkill | None:
        """What skills.lock says of it."""
        try:
            found = read_lock(skill.root.parent).find(skill.name)
        except LockfileError:
            return None
        return found if found and skill.root.name == found.name else None

    def warn(self) -> None:
        """Of what is wrong with no single skill."""
        for problem in (*self.catalog.problems, *filter(None, [self.overrides.problem])):
            complain(f"{problem}; {problem.fix}")

    @cached_property
    def _registry(self) -> Registry:
        return Registry(self.catalog.versions)

    @cached_property
    def _changed(self) -> Mapping[Path, str]:
        """By folder: of a skill that is not what was installed, or of a root whose lock cannot be read."""
        changed: dict[Path, str] = {}
        for root in self.roots:
            folder = root.path.resolve()
            try:
                changed |= {folder / name: reason for name, reason in verify(folder, digest_of).items()}
            except LockfileError as unreadable:
                changed[folder] = str(unreadable)
        return changed
