"""Executions as a busy fleet leaves them behind in a year: a few skills and tenants have most of them."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from skillfleet.history.counting import as_rows, sums_of
from skillfleet.history.records import execution_id

SKILLS, VERSIONS, TENANTS = 50, ("1.0.0", "1.1.0", "2.0.0"), 20
STATUSES = {"success": 90, "failed": 8, "timeout": 2}
CALLS_EACH = 5
"""Executions of one conversation."""

DAYS = 365
LAST = datetime(2026, 7, 1, tzinfo=UTC)
FIRST = LAST - timedelta(days=DAYS)
COUNTED_BY = ("tenant", "skill_name", "skill_version", "status", "completed_at", "duration_ms")


@dataclass
class Made:
    count: int

    def __post_init__(self) -> None:
        self._random = random.Random(self.count)
        self._ended: list[tuple[Any, ...]] = []

    @cached_property
    def skills(self) -> Sequence[str]:
        """The most used first."""
        return [f"skill-{number:02}" for number in range(SKILLS)]

    @cached_property
    def tenants(self) -> Sequence[str]:
        return [f"tenant-{number:02}" for number in range(TENANTS)]

    def executions(self) -> Iterator[dict[str, Any]]:
        """The oldest first."""
        step = (LAST - FIRST) / self.count
        for number in range(self.count):
            yield self._execution(number, FIRST + step * number)

    def _execution(self, number: int, started: datetime) -> dict[str, Any]:
        agent = f"agent-{number // CALLS_EACH:07}"
        place = random.Random(number // CALLS_EACH)
        tenant = self.tenants[_often(place, TENANTS)]
        skill = _often(self._random, SKILLS)
        version = self._version((started - FIRST) / (LAST - FIRST))
        status = self._random.choices([*STATUSES], [*STATUSES.values()])[0]
        ms = round(self._random.lognormvariate(4 + skill % 7, 0.6))
        ended = started + timedelta(milliseconds=ms)
        self._ended.append((tenant, self.skills[skill], version, status, ended, ms))
        return {
            "execution_id": execution_id(agent, f"{number}.0"),
            "agent_id": agent,
            "tenant": tenant,
            "call": f"{number}.0",
            "skill_name": self.skills[skill],
            "skill_version": version,
            "tool": "run_skill_script",
            "parameters": {"location": "kitchen", "number": number},
            "result": {"position": [number, number]} if status == "success" else None,
            "error": None if status == "success" else "exit code 3: the door is shut",
            "status": status,
            "started_at": started,
            "completed_at": ended,
            "duration_ms": ms,
            "retry_count": 0,
            "worker": f"worker-{number % 8}",
            "runtime": "warm",
        }

    def _version(self, age: float) -> str:
        """Each is in use for about half of the time, and the next one comes slowly."""
        newest = min(len(VERSIONS) - 1, int(age * len(VERSIONS)))
        return VERSIONS[max(0, newest - (self._random.random() < 0.3))]

    def sums(self) -> Iterator[dict[str, Any]]:
        """The rows of the statistics, once all executions were made."""
        return as_rows(sums_of(dict(zip(COUNTED_BY, row, strict=True)) for row in self._ended))


def _often(chance: random.Random, count: int) -> int:
    """The first are the most frequent: half of all are among the first quarter."""
    return int(count * chance.random() ** 2)
