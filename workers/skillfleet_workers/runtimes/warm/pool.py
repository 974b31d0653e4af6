"""The warm interpreters of one worker: handed out one run at a time, started and ended off the critical path."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..base import RuntimeUnavailableError
from .channel import DeadInterpreterError, Lease, NotUpError, ThreadedPreloadError, Warm
from .recipe import Recipe

RECYCLE_RUNS = 1000
MOST_IDLE = 32
log = logging.getLogger(__name__)


class Pool:
    """Thread safe. `make`: one that is not yet started. `budget_bytes`: of memory, for the interpreters that wait;
    the least recently used go first."""

    def __init__(self, make: Callable[[Recipe], Warm], budget_bytes: int) -> None:
        self._make = make
        self._budget_bytes = budget_bytes
        self._lock = threading.Lock()
        self._idle: list[Warm] = []
        """Most recently used last."""
        self._out: set[Warm] = set()
        self._bare: set[Recipe] = set()
        self._chores = ThreadPoolExecutor(1, "warm-pool")
        self._closed = False

    def take(self, recipe: Recipe) -> tuple[Warm, Lease]:
        """One for a single run; to `give_back` or to `discard` afterwards.

        Raises:
            RuntimeUnavailableError: none comes up.
        """
        while (interpreter := self._waiting(recipe)) is not None:
            try:
                return interpreter, interpreter.lease()
            except DeadInterpreterError as dead:
                log.warning("%s", dead)
                self.discard(interpreter)
        interpreter = self._started(recipe)
        try:
            return interpreter, interpreter.lease()
        except DeadInterpreterError as dead:
            self.discard(interpreter)
            raise RuntimeUnavailableError(f"a run cannot be prepared in its sandbox: {dead}") from dead

    def give_back(self, interpreter: Warm) -> None:
        if interpreter.runs >= RECYCLE_RUNS:
            self.discard(interpreter, replace=True)
            return
        interpreter.ask()
        self._keep(interpreter)

    def _keep(self, interpreter: Warm) -> None:
        """It has been asked for one spare, no more: where runs share a folder, a second one would be made ready in
        what the first one's run leaves."""
        with self._lock:
            self._out.discard(interpreter)
            self._idle.append(interpreter)
            evicted = self._over_budget()
        for one in evicted:
            self._chore(one.end)

    def discard(self, interpreter: Warm, *, replace: bool = False) -> None:
        """End it; with `replace` another one is made ready meanwhile."""
        with self._lock:
            self._out.discard(interpreter)
        self._chore(interpreter.end)
        if replace:
            self._chore(lambda: self._replace(interpreter.recipe))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            left, self._idle = [*self._idle, *self._out], []
            self._out.clear()
        self._chores.shutdown(wait=True, cancel_futures=False)
        for interpreter in left:
            interpreter.end()

    def interpreters(self) -> list[Warm]:
        """All that live, to look at."""
        with self._lock:
            return [*self._idle, *self._out]

    def _waiting(self, recipe: Recipe) -> Warm | None:
        with self._lock:
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index].recipe == recipe:
                    interpreter = self._idle.pop(index)
                    self._out.add(interpreter)
                    return interpreter
        return None

    def _started(self, recipe: Recipe) -> Warm:
        """In use from the first."""
        began = time.monotonic()
        try:
            interpreter = self._up(recipe, preload=recipe not in self._bare)
        except (ThreadedPreloadError, NotUpError) as wrong:
            if not recipe.imports or recipe in self._bare:
                raise
            # It starts threads, which no fork would have, or breaks the start.
            log.info("importing %s ahead is left to the scripts: %s", ", ".join(recipe.imports), wrong)
            self._bare.add(recipe)
            interpreter = self._up(recipe, preload=False)
        log.info("a warm interpreter is up after %.0f ms", (time.monotonic() - began) * 1000)
        with self._lock:
            self._out.add(interpreter)
        return interpreter

    def _up(self, recipe: Recipe, *, preload: bool) -> Warm:
        try:
            interpreter = self._make(recipe)
        except OSError as wrong:
            raise RuntimeUnavailableError(f"no sandbox can be made: {wrong}") from wrong
        try:
            interpreter.start(preload=preload)
        except OSError as wrong:
            interpreter.end()
            raise RuntimeUnavailableError(f"a sandbox cannot be started: {wrong}") from wrong
        except BaseException:
            interpreter.end()
            raise
        return interpreter

    def _replace(self, recipe: Recipe) -> None:
        with self._lock:
            if self._closed or any(one.recipe == recipe for one in self._idle):
                return
        with contextlib.suppress(RuntimeUnavailableError):  # whoever needs it next will be told
            self._keep(self._started(recipe))

    def _over_budget(self) -> list[Warm]:
        """Those to end; called under the lock. The one that was used last stays whatever it weighs."""
        evicted = []
        weights = [(one, one.memory_bytes()) for one in self._idle]
        total = sum(weight for _, weight in weights)
        for one, weight in weights[:-1]:
            if total <= self._budget_bytes and len(self._idle) <= MOST_IDLE:
                break
            total -= weight
            self._idle.remove(one)
            evicted.append(one)
        return evicted

    def _chore(self, work: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # closing: whatever it was about is ended there
            self._chores.submit(work)
