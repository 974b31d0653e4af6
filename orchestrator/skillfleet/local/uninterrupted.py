"""Processes are started and ended with no exception of a signal in between, which would leave one behind."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def uninterrupted() -> Iterator[list[int]]:
    """Inside, signals are only noted, in the list; the first is handled when the block is left.

    Not a signal mask: children would inherit it. Only the main thread runs handlers: nothing to do on others.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {number: handler for number in NUMBERS if callable(handler := signal.getsignal(number))}
    inside = True

    def note(number: int, frame: FrameType | None) -> None:
        if inside:
            came.append(number)
        else:  # it came while the handlers are put back
            before[signal.Signals(number)](number, frame)

    try:
        for number in before:
            signal.signal(number, note)
        yield came
    finally:
        inside = False
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            before[signal.Signals(came[0])](came[0], None)
