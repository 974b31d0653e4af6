"""The warm interpreters of one worker: handed out one run at a time, started and ended off the critical path."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait

from ..base import RuntimeUnavailableError
from ..capture import Verdict
from .channel import DeadInterpreterError, Lease, Warm
from .idle import Idle
from .recipe import Recipe
from .starts import FAILED_PRELOADS, PRELOAD_AGAIN_S, Start, Starts, tell_failure

RECYCLE_RUNS = 1000
WEIGH_EVERY = 32
"""Runs. Each is a fork: what it forks hardly grows, and to weigh it may cost as much as a run."""

LOOK_EVERY_S = 0.02
log = logging.getLogger(__name__)


class Pool:
    """Thread safe. `make`: one that is not yet started. `budget_bytes`: of memory, for the interpreters that wait;
    the least recently used go first.

    A run is served by what is there, even where that has not imported all that its script will; one that fits better
    is then started for the next run.
    """

    def __init__(
        self, make: Callable[[Recipe], Warm], budget_bytes: int, preload_again_s: float = PRELOAD_AGAIN_S
    ) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._idle = Idle(budget_bytes)
        self._out: set[Warm] = set()
        self._starting: set[Warm] = set()
        self._wishes: dict[Warm, Recipe] = {}
        """What would have fitted better than the one that is out."""
        self._outgrown: set[Warm] = set()
        """Those that are out while one that can do more has come to take their place."""
        self._starts = Starts(self._up, self._arrived, preload_again_s)
        self._chores = ThreadPoolExecutor(1, "warm-pool")
        self._closed = False

    def take(self, recipe: Recipe, give_up: float, cancelled: threading.Event) -> tuple[Warm, Lease] | Verdict:
        """One for a single run; to `give_back` or to `discard` afterwards. Where none is there, one is started, and
        waited for until `give_up` (on the monotonic clock); who gives up leaves the start to the next run.

        Raises:
            RuntimeUnavailableError: none comes up.
        """
        while True:
            if (interpreter := self._waiting(recipe)) is not None:
                try:
                    return interpreter, self._lease(interpreter)
                except DeadInterpreterError as dead:
                    log.warning("%s", dead)
                continue
            started = self._started(recipe, give_up, cancelled)
            if isinstance(started, str):
                return started
            if started is None:
                continue
            try:
                return started, self._lease(started)
            except DeadInterpreterError as dead:
                raise RuntimeUnavailableError(f"a run cannot be prepared in its sandbox: {dead}") from dead

    def give_back(self, interpreter: Warm) -> None:
        with self._lock:
            wish = self._wishes.pop(interpreter, None)
            outgrown = interpreter in self._outgrown
        if outgrown or interpreter.runs >= RECYCLE_RUNS:
            self.discard(interpreter, replace=not outgrown)
            return
        with self._ended_if_wrong(interpreter):
            interpreter.ask()
            self._keep(interpreter)
        if wish is not None:
            self._start_ahead(wish, instead_of=interpreter)

    def discard(self, interpreter: Warm, *, replace: bool = False) -> None:
        """End it, as a chore; with `replace` another one is made ready meanwhile."""
        with self._lock:
            better = self._wishes.get(interpreter, interpreter.recipe)
            self._forget(interpreter)
        self._end(interpreter)
        if replace:
            self._start_ahead(better)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._starts.close()
        self._starts.wait()
        with self._lock:
            left = [*self._starting, *self._idle.all(), *self._out]
        for interpreter in left:
            self.discard(interpreter)
        self._starts.wait()  # one that was ended under way says so, and is ended again
        self._chores.shutdown(wait=True, cancel_futures=False)

    def interpreters(self) -> list[Warm]:
        """All that live, to look at."""
        with self._lock:
            return [*self._idle.all(), *self._out]

    def _waiting(self, recipe: Recipe) -> Warm | None:
        """The best of those that wait, which is out from then on."""
        with self._lock:
            interpreter = self._idle.best(recipe)
            if interpreter is not None:
                self._idle.take(interpreter)
                self._out.add(interpreter)
                if interpreter.recipe.lacks(recipe) and self._starts.loads(recipe):
                    self._wishes[interpreter] = recipe
            return interpreter

    def _lease(self, interpreter: Warm) -> Lease:
        """Raises: DeadInterpreterError: it has been discarded."""
        with self._ended_if_wrong(interpreter):
            try:
                return interpreter.lease()
            except OSError as wrong:
                raise DeadInterpreterError(f"a warm interpreter cannot be prepared: {wrong}") from wrong

    @contextlib.contextmanager
    def _ended_if_wrong(self, interpreter: Warm) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.discard(interpreter)
            raise

    def _started(self, recipe: Recipe, give_up: float, cancelled: threading.Event) -> Warm | Verdict | None:
        """None: look again, another one waits by now, or none comes up with these imports."""
        start = self._starts.wanted(recipe)
        verdict: Verdict | None = None
        up = False
        try:
            while not (up := bool(wait([start.up], LOOK_EVERY_S).done)):
                verdict = _verdict(give_up, cancelled)
                if verdict == "timed_out":
                    self._starts.avoid(start.recipe, "a run could wait for it no longer")
                if verdict is not None or self._one_waits(recipe):
                    break
        finally:
            if not up:
                self._starts.leave(start)
        if not up:
            return verdict
        try:
            interpreter = start.up.result()
        except FAILED_PRELOADS:
            if not start.recipe.imports:
                raise
            return None
        with self._lock:
            self._out.add(interpreter)
        return interpreter

    def _one_waits(self, recipe: Recipe) -> bool:
        with self._lock:
            return self._idle.best(recipe) is not None

    def _start_ahead(self, recipe: Recipe, instead_of: Warm | None = None) -> None:
        with self._lock:
            there = [one.recipe for one in self._idle.all()]
        self._starts.ahead(recipe, there, instead_of)

    def _up(self, recipe: Recipe) -> Warm:
        try:
            interpreter = self._make(recipe)
        except OSError as wrong:
            raise RuntimeUnavailableError(f"no sandbox can be made: {wrong}") from wrong
        with self._lock:
            self._starting.add(interpreter)
        with self._ended_if_wrong(interpreter):
            try:
                interpreter.start()
            except OSError as wrong:
                raise RuntimeUnavailableError(f"a sandbox cannot be started: {wrong}") from wrong
            finally:
                with self._lock:
                    self._starting.discard(interpreter)
        return interpreter

    def _arrived(self, start: Start, interpreter: Warm) -> None:
        with self._lock:
            enough = start.instead_of is None and any(one.recipe == start.recipe for one in self._idle.all())
        if enough:
            self.discard(interpreter)
            return
        with self._ended_if_wrong(interpreter):
            self._keep(interpreter)
            self._retire(start.instead_of, interpreter)

    def _retire(self, old: Warm | None, new: Warm) -> None:
        """End the old one, at once or when it is given back, unless it can do what the new one can't."""
        if old is None or new.recipe.lacks(old.recipe):
            return
        with self._lock:
            if old in self._out:
                self._outgrown.add(old)
            if old not in self._idle:
                return
            self._forget(old)
        self._end(old)

    def _keep(self, interpreter: Warm) -> None:
        """It has been asked for one spare, no more: where runs share a folder, a second one would be made ready in
        what the first one's run leaves. Its holder has it alone until it waits: nobody else may weigh it."""
        weight = None
        if interpreter.runs < 2 or interpreter.runs % WEIGH_EVERY == 0:
            weight = interpreter.memory_bytes()
        with self._lock:
            self._out.discard(interpreter)
            evicted = self._idle.add(interpreter, weight)
            if self._closed:
                evicted = self._idle.all()
            for one in evicted:
                self._forget(one)
        for one in evicted:
            self._end(one)

    def _forget(self, interpreter: Warm) -> None:
        """Called under the lock."""
        self._idle.forget(interpreter)
        self._out.discard(interpreter)
        self._outgrown.discard(interpreter)
        self._wishes.pop(interpreter, None)

    def _end(self, interpreter: Warm) -> None:
        try:
            self._chores.submit(interpreter.end).add_done_callback(tell_failure)
        except RuntimeError:  # the pool is closed
            interpreter.end()


def _verdict(give_up: float, cancelled: threading.Event) -> Verdict | None:
    if cancelled.is_set():
        return "cancelled"
    return "timed_out" if time.monotonic() >= give_up else None
