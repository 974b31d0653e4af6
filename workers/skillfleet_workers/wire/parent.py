"""A child of a local fleet ends when its parent does, however that dies: the parent holds a pipe open."""

import os
import signal
import threading

PARENT_FD = "SKILLFLEET_PARENT_FD"
GRACE_S = 5.0
"""Nobody waits for what it does: it may finish so long, then hand back for as long; see HANDING_BACK_S."""


def end_with_parent() -> None:
    """If a parent has named its pipe in the environment, ask this process to end when the pipe closes."""
    number = os.environ.pop(PARENT_FD, None)
    if number:
        threading.Thread(target=_watch, args=(int(number),), name="parent", daemon=True).start()


def _watch(descriptor: int) -> None:
    os.set_inheritable(descriptor, False)
    while os.read(descriptor, 1):
        pass
    for number, seconds in ((signal.SIGTERM, GRACE_S), (signal.SIGTERM, 2 * GRACE_S), (signal.SIGKILL, 0)):
        os.kill(os.getpid(), number)
        threading.Event().wait(seconds)
