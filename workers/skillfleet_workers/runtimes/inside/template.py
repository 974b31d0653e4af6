"""The interpreter that is kept warm: it has imported what scripts need, and every run is a fork of it.

It forks inits, each in namespaces of its own. For every byte on the channel, which all of them read, an init makes a
spare: below it, the process that will be the script. It sends `ready` and two descriptors up the channel: the
control of the run and its work folder. All that costs time has then been done, before there is a run.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import ctypes
import gc
import os
from _collections import deque  # type: ignore[import-not-found]
from _operator import methodcaller
from itertools import chain

from . import script
from .config import Config
from .init import asked, be_init
from .nest import fork_into, libc

TYPE_CHECKING = False
if TYPE_CHECKING:  # the true one is in a module that costs much to load
    from collections.abc import Callable, Iterator

THREAD_STACK_BYTES = 8 << 20
"""As much as a main thread has by default."""


def serve(fields: dict[str, object], channel: int, kept: frozenset[str], late: list[Callable[[], None]]) -> None:
    """Until the worker closes its end. `kept`: the modules that scripts may find loaded."""
    late.append(script.forget_the_template)
    script.keep(kept)
    config = Config(**fields)
    if not config.nested:  # a script would be of the same user, in the same namespaces
        libc.prctl(script.PR_SET_DUMPABLE, 0, 0, 0, 0)
    files = Files(config, channel)
    gc.collect()
    gc.disable()
    gc.freeze()
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    _thread.stack_size(THREAD_STACK_BYTES)
    # The forks come from a thread with no Python frame below: a script then finds none below its own, as in a
    # plain interpreter. C calls C here: deque draws from chain, chain from map, map calls `run`, later the steps
    # of the end. A fork's only thread is its main one.
    run = ctypes.pythonapi.PyRun_SimpleFileExFlags
    run.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
    outcome: list[int] = []
    runs = map(outcome.append, map(run, files.opened(), files.names(), always(1), always(None)))
    steps = chain(runs, map(methodcaller("__call__"), script.ending(outcome)))
    forever = _thread.allocate_lock()
    forever.acquire()
    _thread.start_new_thread(deque, (steps, 0))
    forever.acquire()


def always(value: object) -> Iterator[object]:
    while True:
        yield value


class Files:
    """What PyRun_SimpleFileExFlags is to run; it comes into being in the forks alone."""

    def __init__(self, config: Config, channel: int) -> None:
        self._config, self._channel = config, channel
        self._name = b""

    def opened(self) -> Iterator[int]:
        os.write(self._channel, b"up")
        inits = 0
        while True:
            if inits == self._config.inits:
                if os.wait()[1] == 0:  # the worker is gone, it says
                    break
                inits -= 1
            if not asked(self._channel):
                break
            inits += 1
            if not fork_into(self._config):
                request = be_init(self._config, self._channel)
                self._name = os.fsencode(request.script)
                yield script.become(request)
                return
        os._exit(0)

    def names(self) -> Iterator[bytes]:
        while True:
            yield self._name
