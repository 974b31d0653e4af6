"""The skills of this machine as a worker here sees them, with no fleet."""

from pathlib import Path

from ..given import script_path
from ..offering import Offering
from ..settings import WorkerSettings
from ..skills.catalog import SkillCatalog
from ..skills.health import HealthBoard
from ..skills.lockfile import LockedSkill, LockfileError, read_lock
from ..skills.models import Skill
from ..skills.overrides import Overrides
from ..skills.roots import roots_of
from ..skills.this_host import this_host
from ..wire.connection import load_settings
from .told import UsageError, complain, unknown_skill

HEALTHY = "healthy"
UNKNOWN = ("unknown_skill", "invalid_skill_name")


class Machine:
    def __init__(self) -> None:
        """Raises: SettingsError"""
        self.settings = load_settings(WorkerSettings)
        self.roots = roots_of(self.settings)
        self.catalog = SkillCatalog(self.roots)
        self.overrides = Overrides(self.settings.skills_config)
        host = this_host(script_path(self.settings.script_path), self.settings.worker_queues)
        self._offering = Offering(self.catalog, self.overrides, host)

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
        return self._offering.why_not(skill) or ""

    def health(self, skill: Skill) -> str:
        """Of a skill that has not run."""
        return HealthBoard().states([skill]).get(skill.name, HEALTHY)

    def locked(self, skill: Skill) -> LockedSkill | None:
        """What skills.lock says of it."""
        try:
            found = read_lock(skill.root.parent).find(skill.name)
        except LockfileError:
            return None
        return found if found and skill.root.name == found.name else None

    def warn(self) -> None:
        """Of what is wrong with no single skill."""
        for problem in self.catalog.problems:
            complain(f"{problem}; {problem.fix}")
