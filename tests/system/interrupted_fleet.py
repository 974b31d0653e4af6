"""Fleets that are interrupted, one after the other, each at a later line of the code that starts and ends them."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.system.fleet import Place

OURS = ("/skillfleet/local/", "/skillfleet/fleet.py")
INTERRUPTED = 130


class Countdown:
    """A trace function that sends Ctrl-C at the so manieth line of our code, or of what forks for it."""

    def __init__(self, lines: int) -> None:
        self._left = lines

    def __call__(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if not (_is_ours(frame) or _forks_for_us(frame)):
            return None
        if event == "line":
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGINT)
        return self


def _is_ours(frame: FrameType | None) -> bool:
    return frame is not None and any(part in frame.f_code.co_filename for part in OURS)


def _forks_for_us(frame: FrameType) -> bool:
    return frame.f_code.co_name == "_execute_child" and frame.f_back is not None and _is_ours(frame.f_back.f_back)


def live(place: Place, script: str, lines: int) -> int:
    fleet = place.fleet()
    sys.settrace(Countdown(lines))
    try:
        with fleet:
            fleet.submit("Wait.", model=script)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        sys.settrace(None)
    return 0


def main(folder: str, script: str, step: int) -> int:
    """Writes, for each line at which one was interrupted, what was left of it."""
    place = Place(Path(folder))
    live(place, script, 0)  # what is imported late is imported now, once
    left = {}
    for line in range(1, sys.maxsize, step):
        child = os.fork()
        if not child:
            return live(place, script, line)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != INTERRUPTED:
            break
        left[line] = place.end()
    json.dump(left, sys.stdout)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
