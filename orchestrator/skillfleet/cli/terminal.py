"""Lines that somebody types on our terminal, while other things go on."""

import os
import select
import sys
import termios
from collections.abc import Callable
from typing import Self

LOOK_S = 0.1
LINE_BYTES = 65_536


class Terminal:
    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._ended = descriptor, False

    @classmethod
    def of_user(cls) -> Self | None:
        """None: nobody sits there."""
        if not (sys.stdin and sys.stderr and sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        return cls(sys.stdin.fileno())

    @property
    def ours(self) -> bool:
        """What is typed is for us: it has not ended, and we are no job in the background, which reading stops."""
        try:
            return not self._ended and os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            return False

    def line(self, prompt: str, wanted: Callable[[], bool]) -> str | None:
        """None: nobody answers here, or it is wanted no more. What was typed before the question is no answer."""
        if not self.ours:
            return None
        termios.tcflush(self._descriptor, termios.TCIFLUSH)
        print(prompt, end="", file=sys.stderr, flush=True)
        while wanted() and self.ours:
            if select.select([self._descriptor], [], [], LOOK_S)[0] and self.ours:
                return self._read()
        print(file=sys.stderr)
        return None

    def _read(self) -> str | None:
        try:
            typed = os.read(self._descriptor, LINE_BYTES)
        except OSError:  # the terminal is gone
            typed = b""
        if not typed:
            self._ended = True
            return None
        return typed.decode(errors="replace").rstrip("\r\n")
