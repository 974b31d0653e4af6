"""A subagent that its parent waits for, over a plain conversation of the same work."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from skillfleet.app import make_ledger
from skillfleet.conversations.models import ConversationSpec
from skillfleet.llm.prompts import opening
from skillfleet.submission import new_id
from skillfleet.tools.definitions import all_definitions, definition
from skillfleet.tools.own import SPAWN
from skillfleet_workers.wire.contract import RUN_PYTHON

from ..fleet import SKILL, BenchError
from ..measure import Summary, heading, interleaved, row, summary
from ..scale.deployment import Deployment
from ..sides import ANSWER, SCRIPT

MANY = 10
SLOTS = 16
NAME = "adder"
WORK: Sequence[dict[str, Any]] = (
    {"calls": [{"tool": RUN_PYTHON.tool, "arguments": {"skill_name": SKILL, "script": SCRIPT}}]},
    {"text": ANSWER},
)


@dataclass(frozen=True, slots=True)
class Size:
    rounds: int
    in_a_row: int


FULL, QUICK = Size(rounds=10, in_a_row=5), Size(rounds=3, in_a_row=3)


def children(*, quick: bool) -> None:
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, Deployment(Path(folder), SLOTS) as fleet:
        side = _Side(fleet)
        one = {"plain": partial(side.plain, 1), "spawned": partial(side.spawned, 1)}
        for converse in one.values():
            converse()
        heading("One tool call: by a plain conversation, and by a subagent whose parent waits for it (ms)")
        _print(one, size.rounds, size.in_a_row)
        heading(f"{MANY} at once: plain conversations, and subagents of one parent (ms, until the last has ended)")
        _print({"plain": partial(side.plain, MANY), "spawned": partial(side.spawned, MANY)}, size.rounds, 1)


def _print(cases: Mapping[str, Callable[[], float]], rounds: int, times: int) -> None:
    def samples(converse: Callable[[], float]) -> list[float]:
        return [converse() * 1000 for _ in range(times)]

    taken = interleaved({name: partial(samples, converse) for name, converse in cases.items()}, rounds)
    found: dict[str, Summary] = {name: summary(all_of_it) for name, all_of_it in taken.items()}
    for name, one in found.items():
        print(row(name, one, "ms"))
    more = found["spawned"].median - found["plain"].median
    print(f"  subagents: {more:+.1f} ms, {found['spawned'].median / found['plain'].median:.2f} times as much")


class _Side:
    """Its verbs give the seconds from the submission to the last answer."""

    def __init__(self, deployment: Deployment) -> None:
        self._ledger, self._fleet = make_ledger(deployment.settings), deployment.fleet

    def plain(self, count: int) -> float:
        script = {"replies": [*WORK]}
        return self._converse([_spec(script) for _ in range(count)])

    def spawned(self, count: int) -> float:
        spawn = {"tool": SPAWN.tool, "arguments": {"prompt": "Add 2 and 2.", "name": NAME}}
        replies = [{"calls": [spawn] * count}, {"text": ANSWER}]
        return self._converse([_spec({"replies": replies, "children": {NAME: [*WORK]}})], count)

    def _converse(self, specs: list[ConversationSpec], answers: int = 1) -> float:
        """Raises: BenchError, where one is wrong. `answers`: calls that each of them makes."""
        began = time.perf_counter()
        self._ledger.submit(*specs)
        for spec in specs:
            report = self._fleet.result(spec.id)
            if report.answer != ANSWER or [call.status for call in report.tool_calls] != ["succeeded"] * answers:
                raise BenchError(f"a conversation went wrong: {report}")
        return time.perf_counter() - began


def _spec(script: dict[str, Any]) -> ConversationSpec:
    return ConversationSpec(
        id=new_id(), model="scripted:bench", script=script, opening=opening("What is 2+2?"),
        tools=(*all_definitions(), definition(SPAWN)), subagents=True,
    )  # fmt: skip
