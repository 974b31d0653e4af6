"""SIGKILL every second or two, by a seed, to one that is in the midst of something."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field

import psutil
import redis

from .crew import Crew
from .side import Kill, Kind, Side, Victim

EVERY_S = (1.0, 2.0)
WEIGHTS: dict[Kind, int] = {"worker": 5, "orchestrator": 3, "redis": 2}
VICTIM_WITHIN_S = 5.0
OUTLIVES_S = 10.0
"""What a killed process has started must be gone by then."""


@dataclass
class Killer:
    """`outlived`: descendants of the killed that lived on."""

    side: Side
    crew: Crew
    chance: random.Random
    groups_only: bool = False
    kills: list[Kill] = field(default_factory=list)
    outlived: list[str] = field(default_factory=list)
    _bereaved: list[tuple[float, list[psutil.Process]]] = field(default_factory=list)

    def pause_s(self) -> float:
        return self.chance.uniform(*EVERY_S)

    def strike(self) -> Kill | None:
        """None: nobody was in the midst of anything in time."""
        kind = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        victim = self._victim(kind)
        if victim is None or (at := self._kill(victim)) is None:
            return None
        kill = Kill(kind, at, victim.held)
        self.kills.append(kill)
        return kill

    def count(self) -> Counter[str]:
        return Counter(kill.kind for kill in self.kills)

    def look_back(self, *, wait: bool = False) -> None:
        """Whether all that hung on the killed is gone in time."""
        if wait:
            psutil.wait_procs([one for _, family in self._bereaved for one in family], OUTLIVES_S)
        now = time.monotonic()
        for died_at, family in [one for one in self._bereaved if wait or now > one[0] + OUTLIVES_S]:
            self._bereaved.remove((died_at, family))
            self.outlived += [f"outlived its killed parent: {words}" for one in family if (words := _words(one))]

    def _victim(self, kind: Kind) -> Victim | None:
        give_up = time.monotonic() + VICTIM_WITHIN_S
        while time.monotonic() < give_up:
            try:
                if found := self.side.victims(kind):
                    return self.chance.choice(sorted(found, key=lambda victim: victim.post.pid if victim.post else 0))
            except redis.RedisError:
                pass
            time.sleep(0.02)
        return None

    def _kill(self, victim: Victim) -> float | None:
        if victim.post is None:
            return self.crew.kill_redis()
        family = victim.post.family()[1:]
        group = self.groups_only or self.chance.random() < 0.3
        at = self.crew.kill(victim.post, group=group)
        self._bereaved.append((time.monotonic(), family))
        return at


def _words(process: psutil.Process) -> str:
    """Empty: it is gone."""
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""
