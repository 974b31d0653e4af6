"""The same shapes while a worker is killed, time and again: what is lost, and what is done twice."""

import os
import signal
import time
from collections.abc import Callable
from random import Random
from typing import Protocol
from uuid import uuid4

from skillfleet.local.children import Child, Children

from ..measure import heading
from ..scale.deployment import TOOL_SLOTS, Deployment
from .canvas import Canvas
from .ours import Plans

BETWEEN_S = (0.3, 1.5)
QUIET_S = 30.0
"""When for so long nothing more is done, the rest is lost."""


class Shape(Protocol):
    """One that was begun."""

    def done(self) -> int: ...

    def over(self) -> bool: ...

    def lost_and_twice(self) -> tuple[int, int]: ...


class OurShape:
    def __init__(self, plans: Plans, shape: str, count: int) -> None:
        self._plans, self._count = plans, count
        self._name = plans.submit(shape, count)

    def done(self) -> int:
        return self._plans.progress(self._name)

    def over(self) -> bool:
        return self._plans.over(self._name)

    def lost_and_twice(self) -> tuple[int, int]:
        return self._plans.lost_and_twice(self._name, self._count)


class CanvasShape:
    def __init__(self, canvas: Canvas, shape: str, count: int) -> None:
        self._canvas, self._count, self._run = canvas, count, uuid4().hex
        canvas.begin(shape, count, "script", self._run)

    def done(self) -> int:
        return self._count - self.lost_and_twice()[0]

    def over(self) -> bool:
        return self.done() == self._count

    def lost_and_twice(self) -> tuple[int, int]:
        return self._canvas.lost_and_twice(self._run, self._count)


def killed(
    deployment: Deployment, children: Children, ours: Plans, canvas: Canvas, kills: int, size: Callable[[str], int]
) -> None:
    heading(
        f"Lost and done twice, a script each, while the worker is killed {kills} times (kill -9) and started again"
    )
    late = Canvas(deployment.settings, children, TOOL_SLOTS, late=True)
    for shape in ("chain", "fan"):
        count = size(shape)
        sides: list[tuple[str, Callable[[], Shape], Children, Child]] = [
            ("skillfleet", lambda s=shape, n=count: OurShape(ours, s, n), deployment.children, deployment.worker),  # type: ignore[misc]
            ("canvas", lambda s=shape, n=count: CanvasShape(canvas, s, n), children, canvas.child),  # type: ignore[misc]
            ("canvas, acks_late", lambda s=shape, n=count: CanvasShape(late, s, n), children, late.child),  # type: ignore[misc]
        ]
        for title, begin, of_side, victim in sides:
            began, begun = time.perf_counter(), begin()
            dead = _kill(of_side, victim, kills, begun)
            _wait(begun)
            lost, twice = begun.lost_and_twice()
            took_s = time.perf_counter() - began
            print(
                f"  {title:<20}{shape} of {count}: {lost} lost, {twice} twice ({dead} kills, {took_s:.0f} s)",
                flush=True,
            )


def _kill(children: Children, victim: Child, kills: int, begun: Shape) -> int:
    """How often there was something to kill it for."""
    random = Random(7)
    for number in range(kills):
        time.sleep(random.uniform(*BETWEEN_S))
        if begun.over():
            return number
        assert victim.process is not None
        os.killpg(victim.process.pid, signal.SIGKILL)
        victim.process.wait()
        victim.process, victim.restart_at = None, 0.0
        children.look_after()
    return kills


def _wait(begun: Shape) -> None:
    """Until it is over, or nothing more is done."""
    before, quiet_since = -1, time.monotonic()
    while not begun.over() and time.monotonic() - quiet_since < QUIET_S:
        if (now := begun.done()) != before:
            before, quiet_since = now, time.monotonic()
        time.sleep(0.2)
