"""Calls and conversations beside the naive Celery way: how fast, how many, and what they cost."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from .cost import cost_ms
from .fleet import Pair
from .measure import at_least, better_by, compared, heading, interleaved, listed, row, summary
from .sides import Side, latency_ms, rate

TOOL_SLOTS = 2
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Case:
    """`aim`: how many times as good as the peer we want to be, where there is one."""

    title: str
    unit: str
    round: Callable[[Side], Callable[[], Sequence[float]]]
    aim: float | None = None


def print_parts(pair: Pair) -> None:
    print(
        f"Celery {version('celery')}, kombu {version('kombu')}, "
        f"redis-server {pair.redis_version} (append-only file, fsync always; the same one for both sides)"
    )
    print(f"{TOOL_SLOTS} tool slots on each side; the peer has {AT_ONCE} processes for conversations")


def side_by_side(pair: Pair, rounds: int, calls: int, conversations: int) -> None:
    one_call, one_conversation = "One tool call, print(2+2), until its result is known", "One conversation of 3 calls"
    cases = (
        Case(one_call, "ms", lambda side: latency_ms(side.call, 8), 2),
        Case(f"Tool calls a second, {calls} at once", "/s", lambda side: rate(side.call, calls)),
        Case(f"{one_conversation}, instant model", "ms", lambda side: latency_ms(side.converse, 4), 2.5),
        Case(
            f"Conversations a second, {conversations} at once",
            "/s",
            lambda side: rate(side.converse, conversations),
            2,
        ),
    )
    for case in cases:
        _print_case(case, pair, rounds)


def _print_case(case: Case, pair: Pair, rounds: int) -> None:
    found = interleaved({"ours": case.round(pair.ours), "peer": case.round(pair.naive)}, rounds)
    ours, peer = summary(found["ours"]), summary(found["peer"])
    more_is_better = case.unit == "/s"
    heading(case.title)
    print(row("skillfleet", ours, case.unit))
    print(row("naive Celery", peer, case.unit))
    print(compared(ours, peer, more_is_better=more_is_better))
    if case.aim:
        what = f"times as {'many' if more_is_better else 'fast'} as the peer"
        print(at_least(what, better_by(ours, peer, more_is_better=more_is_better), case.aim))


def processor_time(pair: Pair, conversations: int) -> None:
    heading("Processor time of one such conversation, without the scripts (ms, median)")
    sides: dict[str, tuple[Side, tuple[str, ...]]] = {
        "skillfleet": (pair.ours, ("orchestrator", "worker", "redis")),
        "naive Celery": (pair.naive, ("conversations", "tools", "redis")),
    }
    for name, (side, parts) in sides.items():
        spent = [cost_ms(pair.sessions, side.converse, conversations) for _ in range(3)]
        middle = {part: statistics.median(one[part] for one in spent) for part in parts}
        print(f"  {name:<28}{sum(middle.values()):>9.1f}        {listed(middle)}")
