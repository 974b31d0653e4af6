"""A worker that takes no calls although calls wait is told so, and no other is."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import psutil
import pytest
import redis

from skillfleet_workers.watchdog import Watchdog

AFTER_S, LOOK_S = 0.2, 0.01
PATIENCE_S = 30.0


class Worker:
    """As its watchdog sees it."""

    def __init__(self) -> None:
        self.waiting, self.taken, self.free, self.away = 1, 0, True, False
        self.looks, self.moves = 0, False
        self.stalled = threading.Event()
        self.watched: Callable[[], None]

    def look(self) -> int:
        self.looks += 1
        if self.away:
            raise redis.ConnectionError("gone")
        return self.waiting

    def takes(self) -> int:
        self.taken += self.moves
        return self.taken


@pytest.fixture
def worker() -> Iterator[Worker]:
    seen = Worker()
    watchdog = Watchdog(
        seen.look, seen.takes, lambda: seen.free, seen.stalled.set, after_s=AFTER_S, look_every_s=LOOK_S
    )
    with closing(watchdog):
        seen.watched = watchdog.start
        yield seen


def pass_time(worker: Worker) -> None:
    """Well beyond what a stall takes."""
    assert not worker.stalled.wait(4 * AFTER_S)


def test_calls_that_wait_while_none_is_taken_are_a_stall(worker: Worker) -> None:
    worker.watched()
    assert worker.stalled.wait(PATIENCE_S)


def test_an_empty_queue_is_none(worker: Worker) -> None:
    worker.waiting = 0
    worker.watched()
    pass_time(worker)
    assert worker.looks > 2


def test_full_hands_are_none_until_one_is_free(worker: Worker) -> None:
    worker.free = False
    worker.watched()
    pass_time(worker)
    worker.free = True
    assert worker.stalled.wait(PATIENCE_S)


def test_a_redis_that_is_away_is_none_until_it_is_back(worker: Worker) -> None:
    worker.away = True
    worker.watched()
    pass_time(worker)
    assert worker.looks > 2
    worker.away = False
    assert worker.stalled.wait(PATIENCE_S)


def test_a_queue_that_moves_is_none_however_long_it_is(worker: Worker) -> None:
    worker.moves = True
    worker.watched()
    pass_time(worker)
    assert worker.taken > 2


WATCHED = """
import threading
from skillfleet_workers.watchdog import Watchdog

def look():
    print("look", flush=True)
    return 1

stalled = threading.Event()
Watchdog(look, lambda: 0, lambda: True, stalled.set, after_s=0.5, look_every_s=0.02).start()
stalled.wait()
print("stalled", flush=True)
"""


def test_the_time_in_which_the_worker_itself_stood_still_does_not_count() -> None:
    with subprocess.Popen([sys.executable, "-c", WATCHED], stdout=subprocess.PIPE, text=True) as watched:
        assert watched.stdout is not None
        assert watched.stdout.readline() == "look\n"
        watched.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, watched.pid, os.WSTOPPED)
        assert psutil.Process(watched.pid).status() == psutil.STATUS_STOPPED
        with pytest.raises(subprocess.TimeoutExpired):
            watched.wait(1)
        watched.send_signal(signal.SIGCONT)
        *looks, last = watched.stdout.read().split()
    assert last == "stalled"
    assert len(looks) > 4
