"""What lies between the provider's bytes and a follower, one stream at a time and many at once.

The peer is the provider's own SDK in the follower's process, with nothing between them.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skillfleet.local.lone import worker_environment

from ..cost import spent_ms
from ..fleet import BenchError
from ..measure import Summary, heading, interleaved, listed, row, summary
from ..scale.deployment import Deployment
from .follower import Order, Seen
from .provider import model_name

PROCESSES = 4
"""That the followers of many streams share."""

SIDES = {"SDK alone": False, "skillfleet": True}


@dataclass(frozen=True, slots=True)
class Size:
    """`pace_s`: between two pieces of a stream."""

    rounds: int
    streams: int
    at_once: int
    pieces: int
    pace_s: float


ONE, ONE_QUICK = Size(10, 12, 1, 50, 0.02), Size(3, 4, 1, 50, 0.02)
MANY, MANY_QUICK = Size(5, 1, 200, 100, 0.1), Size(1, 1, 200, 50, 0.1)


def streams(*, quick: bool) -> None:
    sizes = (ONE_QUICK, MANY_QUICK) if quick else (ONE, MANY)
    with (
        tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder,
        Deployment(Path(folder), MANY.at_once, "bench.streams.provider") as fleet,
        _followers(fleet) as followers,
    ):
        for size in sizes:
            _measure(fleet, followers, size)


def _measure(fleet: Deployment, followers: "list[subprocess.Popen[str]]", size: Size) -> None:
    what = f"{size.at_once} streams at once" if size.at_once > 1 else "One stream at a time"
    heading(f"{what}, {size.pieces} pieces, {size.pace_s * 1000:g} ms apart: from its writing to the follower (ms)")
    parties = [Party(fleet, followers, size, name, ours) for name, ours in SIDES.items()]
    for party in parties:
        party.round(size.at_once)  # connections, and what is imported with the first reply
        party.forget()
    interleaved({party.name: party.measured for party in parties}, size.rounds)
    for party in parties:
        party.report()
    peer, ours = (party.first for party in parties)
    print(f"  added to the first piece: median {ours.median - peer.median:.2f} ms, p99 {ours.p99 - peer.p99:.2f} ms")


class Party:
    """One side, and what its followers have seen."""

    def __init__(
        self, fleet: Deployment, followers: "list[subprocess.Popen[str]]", size: Size, name: str, ours: bool
    ) -> None:
        self._fleet, self._size, self.name, self._ours = fleet, size, name, ours
        self._followers = followers[: min(size.at_once, PROCESSES)]
        self.forget()

    def forget(self) -> None:
        self._seen, self._streams = Seen(), 0
        self._spent: dict[str, float] = {}

    def measured(self) -> list[float]:
        before = self._spent_ms()
        for _ in range(self._size.streams):
            self.round(self._size.at_once)
        for part, after in self._spent_ms().items():
            self._spent[part] = self._spent.get(part, 0.0) + after - before[part]
        return []

    def round(self, count: int) -> None:
        size = self._size
        order = Order(self._ours, model_name(size.pieces, size.pace_s), count // len(self._followers), size.pieces)
        for follower in self._followers:
            assert follower.stdin
            follower.stdin.write(json.dumps(asdict(order)) + "\n")
            follower.stdin.flush()
        for follower in self._followers:
            self._add(Seen(**_answer(follower)))
        self._streams += count

    def _add(self, seen: Seen) -> None:
        self._seen.first += seen.first
        self._seen.all += seen.all
        self._seen.whole += seen.whole

    def _spent_ms(self) -> dict[str, float]:
        sessions = self._fleet.sessions | {"model server": -1}
        ours = spent_ms(sessions) if self._ours else {}
        each = spent_ms({str(number): follower.pid for number, follower in enumerate(self._followers)})
        return ours | {"followers": sum(each.values())}

    @property
    def first(self) -> Summary:
        return _in_ms(self._seen.first)

    def report(self) -> None:
        seconds = self._streams * self._size.pieces * self._size.pace_s
        print(row(f"{self.name}, first piece", self.first, "ms"))
        print(row(f"{self.name}, every piece", _in_ms(self._seen.all), "ms"))
        spent = {part: ms / seconds for part, ms in self._spent.items() if ms}
        print(f"  processor ms a second of a stream: {sum(spent.values()):.1f} ({listed(spent)})")
        print(f"  texts that came whole: {self._seen.whole} of {self._streams}")


def _in_ms(delays: list[float]) -> Summary:
    return summary([delay * 1000 for delay in delays])


@contextmanager
def _followers(fleet: Deployment) -> Iterator["list[subprocess.Popen[str]]"]:
    command = [sys.executable, "-m", "bench.streams.follower", fleet.base_url]
    with ExitStack() as running:
        started = []
        for _ in range(PROCESSES):
            follower = subprocess.Popen(
                command, env=worker_environment(fleet.settings), text=True, start_new_session=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            started.append(running.enter_context(follower))
        for follower in started:
            assert follower.stdout
            if follower.stdout.readline() != "ready\n":
                raise BenchError("a follower did not come up")
        yield started


def _answer(follower: "subprocess.Popen[str]") -> dict[str, Any]:
    assert follower.stdout
    line = follower.stdout.readline()
    if not line:
        raise BenchError("a follower has failed; its traceback is above")
    found: dict[str, Any] = json.loads(line)
    return found
