"""What may be done with a call again: after the death of its worker, or after its script failed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .runtimes.isolation import at_least
from .skills.catalog import SkillCatalog
from .skills.models import Skill
from .wire.contract import RUN_SCRIPT, CallMessage, Effects, TaskSpec
from .wire.execution import Isolation


@dataclass(frozen=True, slots=True)
class CallTerms:
    """`retries`: how many failures of its script are followed by a new attempt."""

    effects: Effects
    retries: int = 0


Terms = Callable[[TaskSpec[Any], CallMessage], CallTerms]


def task_terms(spec: TaskSpec[Any], message: CallMessage) -> CallTerms:
    """As the contract says, whatever the skill; but who sends it with retries says that it may be run again."""
    if message.retries is None:
        return CallTerms(spec.effects)
    return CallTerms("idempotent" if message.retries else spec.effects, message.retries)


@dataclass(frozen=True, slots=True)
class SkillTerms:
    """`isolation`: what would hold a run of this skill."""

    catalog: SkillCatalog
    isolation: Callable[[Skill], Isolation]

    def __call__(self, spec: TaskSpec[Any], message: CallMessage) -> CallTerms:
        name = message.request.get("skill_name")
        skill = self.catalog.find(name, message.skills, message.digest) if isinstance(name, str) else None
        if spec.effects != "unsafe" or not isinstance(skill, Skill):
            return task_terms(spec, message)
        effects = skill.effects or self._undeclared(skill)
        if message.retries is not None:
            told = task_terms(spec, message)
            return CallTerms(effects if effects != "unsafe" else told.effects, told.retries)
        repeatable = spec is RUN_SCRIPT and effects != "unsafe"
        return CallTerms(effects, skill.max_retries if repeatable else 0)

    def _undeclared(self, skill: Skill) -> Effects:
        """Without a network, in a sandbox with nothing to write but its own work folder, a script leaves no trace but
        its result."""
        held = skill.network == "none" and at_least(self.isolation(skill), "sandbox")
        return "idempotent" if held else "unsafe"
