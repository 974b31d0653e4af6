"""Where nothing can be kept warm, every run is a container by itself; the next one is up before its run comes."""

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor

from ..base import RuntimeUnavailableError
from ..capture import KILL_GRACE_S
from ..warm.channel import DeadInterpreterError, Lease
from ..warm.recipe import Recipe
from .images import Image
from .interpreter import Host
from .lone import OWN_MEMORY_MB, LoneContainer


class PlainContainer:
    kill_grace_s = KILL_GRACE_S

    def __init__(self, recipe: Recipe, image: Image, host: Host) -> None:
        self.recipe = recipe
        self.runs = 0
        self._image, self._host = image, host
        self._starts = ThreadPoolExecutor(1, "container-start")
        self._next: Future[LoneContainer] = Future()
        self._current: LoneContainer | None = None

    def start(self) -> None:
        self.ask()
        self._next.result()

    def ask(self) -> None:
        self._current = None
        self._next = self._starts.submit(LoneContainer, self.recipe, self._image, self._host)

    def lease(self) -> Lease:
        try:
            self._current = self._next.result()
        except RuntimeUnavailableError as failed:
            raise DeadInterpreterError(str(failed)) from failed
        lease = self._current.lease()
        self.runs += 1
        return lease

    def oom_kills(self) -> int:
        return self._current.oom_kills if self._current is not None else 0

    def memory_bytes(self) -> int:
        return OWN_MEMORY_MB << 20

    def end(self) -> None:
        self._next.cancel()
        self._starts.shutdown()
        with contextlib.suppress(RuntimeUnavailableError, OSError):  # there is none then
            if not self._next.cancelled():
                self._next.result().end()
