"""Child processes of a local fleet: started, restarted when they die, ended together."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillfleet_workers.wire.connection import HANDING_BACK_S, SETTINGS_EXIT
from skillfleet_workers.wire.parent import PARENT_FD

from .uninterrupted import uninterrupted

LAST_S = HANDING_BACK_S + 1.0
"""A child that has to end at once is given so long."""

STEADY_S = 30.0
MAX_PAUSE_S = 15.0


class ChildGaveUpError(Exception):
    """A child refused its settings: starting it again would not help. Its own line has told why."""


@dataclass(slots=True)
class Child:
    """`arguments` follow the interpreter. `log`: where stderr goes; None: ours."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path | None = None
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    pause_s: float = 0.0
    restart_at: float = 0.0


@dataclass(slots=True)
class Children:
    """Call from the main thread. Children get no signals of the terminal: ending them is ours."""

    children: list[Child] = field(default_factory=list)
    _pipe: tuple[int, int] = field(default_factory=os.pipe)

    def start(self, child: Child) -> None:
        self.children.append(child)
        self._spawn(child)

    def look_after(self) -> list[str]:
        """Restart what has died, later and later when it keeps dying; the names of those restarted.

        Raises:
            ChildGaveUpError: a child ended with the exit code of wrong settings.
        """
        restarted = []
        for child in self.children:
            if child.process is None:
                if time.monotonic() >= child.restart_at:
                    self._spawn(child)
                    restarted.append(child.name)
            elif (code := child.process.poll()) is not None:
                self._bury(child, code)
        return restarted

    def stop(self, grace_s: float = 0.0) -> None:
        """End all: SIGTERM, and they may finish what runs for `grace_s`; a signal has them hand it back at once, a
        second one does not wait for that. What is left of their sessions is killed."""
        with uninterrupted() as came:
            living = [child.process for child in self.children if child.process]
            _terminate(living, grace_s + LAST_S, lambda: not came)
            if came:
                _terminate(living, LAST_S, lambda: len(came) < 2)
            for process in living:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            self.children.clear()
            for end in self._pipe:
                os.close(end)

    def _spawn(self, child: Child) -> None:
        child.started_at = time.monotonic()
        with uninterrupted(), child.log.open("ab") if child.log else contextlib.nullcontext() as log:
            child.process = subprocess.Popen(
                [sys.executable, *child.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**child.environment, PARENT_FD: str(self._pipe[0])},
                pass_fds=[self._pipe[0]],
                start_new_session=True,
            )

    def _bury(self, child: Child, code: int) -> None:
        if code == SETTINGS_EXIT:
            raise ChildGaveUpError(child.name)
        steady = time.monotonic() - child.started_at > STEADY_S
        child.pause_s = 0.5 if steady or not child.pause_s else min(MAX_PAUSE_S, child.pause_s * 2)
        child.restart_at = time.monotonic() + child.pause_s
        child.process = None


def _terminate(processes: "list[subprocess.Popen[bytes]]", seconds: float, patient: Callable[[], bool]) -> None:
    for process in processes:
        process.terminate()
    give_up = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and patient() and time.monotonic() < give_up:
        time.sleep(0.01)
