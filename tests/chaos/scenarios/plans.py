"""Plans of tools that hand on sums, under SIGKILL."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.system.fleet import wait_for

from skillfleet.fleet import Fleet

from .scenario import Verdict
from .siege import SCRIPT_S, Siege, besieged, meanwhile

PATIENCE_S = 150.0
TOOLS = 12
LOOK_S = 0.01
SCRIPT = """
import json, sys
asked = json.load(sys.stdin)
{calling_in}
if asked["fails"]:
    sys.exit(1)
print(json.dumps({{"sum": asked["own"] + sum(one or 0 for one in asked["of"])}}))
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """`sums`: what each tool is to bring, None: it fails; `alone`: places of those that nothing may run beside."""

    plan: Mapping[str, Any]
    sums: tuple[int | None, ...]
    alone: frozenset[str]


def plans_killed(chance: random.Random, full: bool) -> Verdict:
    """Each tool adds up what those before it have brought; some fail, and are optional; some run alone.
    Orchestrators, workers and redis die meanwhile: every plan ends with the right sums, each tool has one result, and
    nothing has run beside what runs alone."""
    with besieged(script=lambda roll: SCRIPT.format(calling_in=roll.script("", SCRIPT_S))) as siege:
        with siege.side.fleet() as fleet:
            drawn = [_drawn(chance) for _ in range(12 if full else 4)]
            asked = {fleet.submit_plan(one.plan, timeout=PATIENCE_S * 2): one for one in drawn}
        siege.side.watch(list(asked))
        beside: set[str] = set()
        with meanwhile(lambda: _look(siege.roll.running(), asked, beside), LOOK_S):
            _kill(siege, chance, 10 if full else 4)
            wait_for(siege.all_ended, "every plan has ended", PATIENCE_S)
        siege.verdict.violations += [f"{one} ran beside another" for one in sorted(beside)]
        with siege.side.fleet() as fleet:
            for name, one in asked.items():
                siege.verdict.violations += _wrongs(fleet, name, one)
        siege.verdict.facts.append(f"{len(asked)} plans of {TOOLS} tools, {siege.roll.starts.total()} starts")
    return siege.verdict


def _drawn(chance: random.Random) -> Drawn:
    tools: list[dict[str, Any]] = []
    sums: list[int | None] = []
    for index in range(TOOLS):
        needs = sorted(chance.sample(range(index), min(index, chance.randrange(4))))
        fails, own = chance.random() < 0.2, chance.randrange(100)
        quoted = [{"$from": f"t{need}", "pointer": "/sum"} for need in needs]
        tools.append({
            "toolId": f"t{index}", "toolPath": "lab/scripts/tool.py", "dependencies": [f"t{need}" for need in needs],
            "input": {"own": own, "of": quoted, "fails": fails}, "required": not fails,
            "async": chance.random() < 0.8, "retryPolicy": {"maxRetries": 1 if fails else 3, "backoffMs": 20},
        })  # fmt: skip
        sums.append(None if fails else own + sum(sums[need] or 0 for need in needs))
    alone = frozenset(str(index) for index, tool in enumerate(tools) if not tool["async"])
    return Drawn({"requestId": str(uuid4()), "parallel": True, "tools": tools}, tuple(sums), alone)


def _kill(siege: Siege, chance: random.Random, times: int) -> None:
    siege.in_the_midst()
    for number in range(times):
        living = [post for post in siege.crew.posts if post.alive]
        siege.crew.kill_redis() if number == times // 2 else siege.crew.kill(chance.choice(living))
        time.sleep(chance.uniform(0.5, 1.5))


def _look(running: set[str], asked: Mapping[str, Drawn], beside: set[str]) -> None:
    """For calls that run beside others, and should not."""
    for call in running:
        name, _, index = call.split(".")
        others = [one for one in running if one != call and one.startswith(f"{name}.")]
        if others and index in asked[name].alone:
            beside.add(call)


def _wrongs(fleet: Fleet, name: str, drawn: Drawn) -> list[str]:
    trace = {one.tool_id: one for one in fleet.plan_result(name).execution_trace}
    brought = [trace[f"t{index}"].output for index in range(TOOLS)]
    sums = tuple(one["sum"] if one else None for one in brought)
    wrong = [] if sums == drawn.sums else [f"{name}: {sums} in place of {drawn.sums}"]
    wrong += [] if fleet.result(name).status == "completed" else [f"{name} is {fleet.result(name).status}"]
    entries = [one for one in fleet.follow(name, live=False) if one]
    results = sorted(one.data["key"] for one in entries if one.type == "result")
    wrong += [] if results == sorted(set(results)) and len(results) == TOOLS else [f"{name}: results {results}"]
    ends = sum(one.type == "ended" for one in entries)
    return wrong + ([] if ends == 1 else [f"{name} ended {ends} times"])
