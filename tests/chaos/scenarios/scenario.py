"""What a scenario is."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Verdict:
    facts: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        return "; ".join(["sound" if self.sound else "VIOLATED", *self.facts, *self.violations])


Scenario = Callable[[random.Random, bool], Verdict]
"""The seed's chance, and whether it runs in full."""
