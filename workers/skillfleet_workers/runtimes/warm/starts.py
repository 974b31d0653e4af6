"""Interpreters on their way up, each in a thread of its own, and what could not be imported ahead of the scripts."""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from ..base import RuntimeUnavailableError
from .channel import NotUpError, ThreadedPreloadError, Warm
from .recipe import Recipe, best_first, shadowed

PRELOAD_AGAIN_S = 300.0
"""A start that fails once may have been killed from outside, or have met a slow disk."""

MOST_REMEMBERED = 256
FAILED_PRELOADS = (ThreadedPreloadError, NotUpError)
STARTS_AHEAD = 2
"""So many at once for which no run waits: they are only a speed-up, and compete with those that run."""

CLOSE_PATIENCE_S = 1.0
"""For starts under way, which can be ended only roughly."""

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Start:
    """`wanted`: a run waits for it. `instead_of`: one that lacks imports which this one will have."""

    recipe: Recipe
    wanted: bool
    instead_of: Warm | None = None
    up: Future[Warm] = field(init=False)

    def may_serve(self, recipe: Recipe) -> bool:
        """Nobody has it yet, and a script of that recipe would have nothing left to import."""
        if self.wanted or self.recipe.lacks(recipe):
            return False
        return bool(best_first(recipe, [self.recipe])) and not shadowed(recipe, self.recipe)


class Unloadable:
    """Recipes whose imports can't be done ahead, each until it may be tried again. Not thread safe."""

    def __init__(self, again_s: float = PRELOAD_AGAIN_S) -> None:
        self._again_s = again_s
        self._until: dict[Recipe, float] = {}

    def __contains__(self, recipe: Recipe) -> bool:
        return self._until.get(recipe, 0.0) > time.monotonic()

    def add(self, recipe: Recipe, why: Exception | str) -> None:
        """Threads are for good, as no fork would have them; anything else may pass."""
        if not recipe.imports:
            return
        threads = isinstance(why, ThreadedPreloadError)
        spell = "" if threads else f" for {self._again_s:g} s"
        log.warning("importing %s ahead is left to the scripts%s: %s", ", ".join(recipe.imports), spell, why)
        now = time.monotonic()
        held = [(one, until) for one, until in self._until.items() if until > now and one != recipe]
        self._until = dict(held[1 - MOST_REMEMBERED :])
        self._until[recipe] = math.inf if threads else now + self._again_s


class Starts:
    """Thread safe. `start`: a new interpreter, or an exception and nothing left of it. `arrived` is given those that
    no run waits for."""

    def __init__(
        self, start: Callable[[Recipe], Warm], arrived: Callable[[Start, Warm], None], again_s: float
    ) -> None:
        self._start, self._arrived = start, arrived
        self._lock = threading.Lock()
        self._under_way: list[Start] = []
        self._unloadable = Unloadable(again_s)
        self._closed = False

    def loads(self, recipe: Recipe) -> bool:
        """As far as is known, its imports can be done ahead."""
        with self._lock:
            return recipe not in self._unloadable

    def avoid(self, recipe: Recipe, why: Exception | str) -> None:
        with self._lock:
            self._unloadable.add(recipe, why)

    def wanted(self, recipe: Recipe) -> Start:
        """One that was left by its run, or a new one. Raises: RuntimeUnavailableError."""
        with self._lock:
            loadable = recipe.bare if recipe in self._unloadable else recipe
            for start in self._under_way:
                if start.may_serve(loadable) and start.recipe not in self._unloadable:
                    start.wanted = True
                    return start
            return self._begin(Start(loadable, wanted=True))

    def ahead(self, recipe: Recipe, there: Collection[Recipe], instead_of: Warm | None) -> None:
        """Left out where one is `there` or on its way, or where too much else is."""
        with self._lock:
            unwanted = [start for start in self._under_way if not start.wanted]
            relevant = unwanted if instead_of is not None else self._under_way  # a replacement is for whoever comes
            known = [*there, *(start.recipe for start in relevant)]
            if len(unwanted) < STARTS_AHEAD and recipe not in self._unloadable and recipe not in known:
                with contextlib.suppress(RuntimeUnavailableError):  # whoever needs it next will be told
                    self._begin(Start(recipe, wanted=False, instead_of=instead_of))

    def leave(self, start: Start) -> None:
        """Its run waits for it no longer; it goes on for the next one."""
        with self._lock:
            start.wanted = False
            under_way = start in self._under_way
        if not under_way and start.up.exception() is None:
            self._arrived(start, start.up.result())

    def close(self) -> None:
        """None is begun from now on; those under way go on."""
        with self._lock:
            self._closed = True

    def wait(self) -> None:
        """Until none is under way, or for CLOSE_PATIENCE_S."""
        with self._lock:
            under_way = [start.up for start in self._under_way]
        wait(under_way, CLOSE_PATIENCE_S)

    def _begin(self, start: Start) -> Start:
        """Called under the lock."""
        if self._closed:
            raise RuntimeUnavailableError("the warm interpreters of this worker have been ended")
        thread = ThreadPoolExecutor(1, "warm-start")
        try:
            start.up = thread.submit(self._bring_up, start)
        except RuntimeError as wrong:
            raise RuntimeUnavailableError(f"no thread can start an interpreter: {wrong}") from wrong
        thread.shutdown(wait=False)
        self._under_way.append(start)
        start.up.add_done_callback(lambda up: None if start.wanted or self._closed else tell_failure(up))
        return start

    def _bring_up(self, start: Start) -> Warm:
        began = time.monotonic()
        try:
            interpreter = self._start(start.recipe)
        except BaseException as wrong:
            if isinstance(wrong, FAILED_PRELOADS):
                self.avoid(start.recipe, wrong)
            with self._lock:
                self._under_way.remove(start)
            raise
        log.info("a warm interpreter is up after %.0f ms", (time.monotonic() - began) * 1000)
        with self._lock:
            self._under_way.remove(start)
            wanted = start.wanted
        if not wanted:
            self._arrived(start, interpreter)
        return interpreter


def tell_failure(done: Future[Any]) -> None:
    """What nobody waits for fails in silence otherwise."""
    if (wrong := done.exception()) is not None:
        log.error("what is done for the runs to come has failed: %s", wrong, exc_info=wrong)
