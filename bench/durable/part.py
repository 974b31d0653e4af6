"""The same conversation, with steps that do nothing, by a durable-execution library: for orientation, not a peer."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.wire.contract import LIST_SKILLS

from ..execution.ours import cache_folder
from ..measure import heading, interleaved, row, summary
from ..peer import Peer, PeerMissingError
from ..scale.deployment import Deployment
from ..sides import ANSWER, CALLS_A_CONVERSATION

AT_ONCE = 8
CHILD = Path(__file__).with_name("dbos_child.py")
REQUIREMENT = "dbos>=3.4,<4"
OURS = "skillfleet"


@dataclass(frozen=True, slots=True)
class Size:
    rounds: int
    in_a_row: int
    queued: int


FULL = Size(rounds=5, in_a_row=10, queued=50)
QUICK = Size(rounds=2, in_a_row=5, queued=20)


@dataclass(frozen=True, slots=True)
class Contestant:
    """Seconds for so many conversations: one after the other, and queued at once."""

    converse: Callable[[int], float]
    queued: Callable[[int], float]


def durable(*, quick: bool) -> None:
    size = QUICK if quick else FULL
    heading(f"For orientation: {CALLS_A_CONVERSATION} calls that do nothing, instant model, {AT_ONCE} at once")
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        contestants = {OURS: _ours(stack.enter_context(Deployment(folder, AT_ONCE)), folder)}
        try:
            environments = Environments(cache_folder() / "environments")
            given = (folder, CALLS_A_CONVERSATION, AT_ONCE)
            peer = stack.enter_context(Peer(environments, folder, "dbos", REQUIREMENT, CHILD, *given))
            contestants[f"dbos {peer.version}, SQLite"] = Contestant(
                lambda count: peer.ask(f"latency {count}"), lambda count: peer.ask(f"queued {count}")
            )
        except PeerMissingError as missing:
            print(f"  without dbos: {missing}")
        for one in contestants.values():
            one.converse(2)
            one.queued(AT_ONCE)
        _print(contestants, size)


def _print(contestants: dict[str, Contestant], size: Size) -> None:
    def one_ms(each: Contestant) -> list[float]:
        return [each.converse(size.in_a_row) * 1000 / size.in_a_row]

    def rate(each: Contestant) -> list[float]:
        return [size.queued / each.queued(size.queued)]

    for title, sample, unit in (
        ("ms a conversation, one after the other", one_ms, "ms"),
        (f"conversations a second, {size.queued} queued at once", rate, "/s"),
    ):
        print(f" {title}")
        cases = {name: partial(sample, each) for name, each in contestants.items()}
        for name, samples in interleaved(cases, size.rounds).items():
            print(row(name, summary(samples), unit))


def _ours(fleet: Deployment, folder: Path) -> Contestant:
    script = {"replies": [*[{"calls": [{"tool": LIST_SKILLS.tool}]}] * CALLS_A_CONVERSATION, {"text": ANSWER}]}
    path = folder / "no-op.yaml"
    path.write_text(yaml.safe_dump(script))
    model = f"scripted:{path}"

    def converse(count: int) -> float:
        return sum(fleet.converse(model, 1, CALLS_A_CONVERSATION) for _ in range(count))

    return Contestant(converse, lambda count: fleet.converse(model, count, CALLS_A_CONVERSATION))
