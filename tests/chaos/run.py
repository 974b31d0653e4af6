"""One run of one side under fire: submit all, kill for so long, wait for the end, judge."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import redis

from .crew import Crew
from .killer import Killer
from .side import Outcome, Side

LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Plan:
    """`seconds`: killing ends then, or when all have their end. `patience_s`: after the last kill, without a
    script that ends for the first time, until what has no end is lost; `most_s`: with progress too."""

    conversations: int
    seconds: float
    seed: int
    patience_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class Ran:
    name: str
    outcome: Outcome
    kills: Counter[str]
    took_s: float
    deserters: list[str]
    giving_up: list[str]

    @property
    def sound(self) -> bool:
        return not (self.outcome.violations or self.deserters)


def under_fire(side: Side, crew: Crew, plan: Plan, say: Callable[[str], None], *, groups_only: bool = False) -> Ran:
    killer = Killer(side, crew, random.Random(plan.seed), groups_only)
    side.submit(plan.conversations)
    began = time.monotonic()
    ended = _fight(side, killer, plan, began, say)
    ended, took_s = _calm(side, plan, ended, began, say)
    killer.look_back(wait=True)
    outcome = side.outcome(killer.kills)
    outcome.violations += killer.outlived
    return Ran(side.name, outcome, killer.count(), took_s, crew.deserters, crew.giving_up)


def _fight(side: Side, killer: Killer, plan: Plan, began: float, say: Callable[[str], None]) -> int:
    ended, next_kill = 0, began + killer.pause_s()
    while ended < plan.conversations and time.monotonic() < began + plan.seconds:
        time.sleep(LOOK_EVERY_S)
        killer.look_back()
        if time.monotonic() >= next_kill:
            kill = killer.strike()
            ended = _ended(side, ended)
            if kill:
                at = f"{time.monotonic() - began:6.1f} s  {ended:>4} ended"
                held = f" ({len(kill.held)} in hand)" if kill.held else ""
                say(f"{at}  SIGKILL {kill.kind}{held}")
            next_kill = time.monotonic() + killer.pause_s()
        else:
            ended = _ended(side, ended)
    return ended


def _calm(side: Side, plan: Plan, ended: int, began: float, say: Callable[[str], None]) -> tuple[int, float]:
    last_progress, steps = time.monotonic(), 0
    until = last_progress + plan.most_s
    while ended < plan.conversations and time.monotonic() < min(until, last_progress + plan.patience_s):
        time.sleep(LOOK_EVERY_S)
        ended = _ended(side, ended)
        before, steps = steps, ended + len(side.roll.ends)
        if steps > before:
            last_progress = time.monotonic()
    took_s = (time.monotonic() if ended >= plan.conversations else last_progress) - began
    say(f"{took_s:6.1f} s  {ended:>4} ended")
    return ended, took_s


def _ended(side: Side, known: int) -> int:
    try:
        return side.ended()
    except redis.RedisError:
        return known
