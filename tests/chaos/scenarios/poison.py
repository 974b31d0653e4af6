"""A call under which every worker dies."""

import json
import random
from functools import partial

from tests.system.fleet import wait_for

from ..crew import Post
from .scenario import Verdict
from .siege import Siege, besieged

DEATHS = 3


def poison_call(_: random.Random, full: bool) -> Verdict:
    """Its worker is killed each time it starts: after three deaths the model is told, the calls of others go on,
    and the payload is kept."""
    with besieged(orchestrators=1, workers=2) as siege:
        poison = siege.roll.script("never", 600.0)
        siege.side.submit(1, siege.side.model_of([poison], "${c1.error}"))
        name = siege.side.ids[0]
        others = 20 if full else 6
        siege.submit(others)
        for death in range(1, DEATHS + 1):
            wait_for(partial(_started, siege, f"{name}.1.0", death), f"start {death} of the poison")
            if death == DEATHS:  # a call that dies beside it as often is taken for poison, too
                wait_for(lambda: siege.side.ended() == others, "the others have ended")
            siege.crew.kill(_worker_of(siege, name))
        wait_for(lambda: siege.side.ended() == len(siege.side.ids), "all have ended")
        with siege.side.fleet() as fleet:
            report, dead = fleet.status(name), fleet.dead()
            answered = [fleet.status(other).answer for other in siege.side.ids[1:]]
        siege.verdict.facts.append(f"the model was told: {report.answer}")
        if report.status != "completed" or [call.id for call in dead] != [f"{name}.1.0"]:
            siege.verdict.violations.append(f"{json.dumps(report.as_json())}; dead: {dead}")
        if answered != ["1-2-3"] * others:
            siege.verdict.violations.append(f"the others: {answered}")
        if siege.roll.starts[f"{name}.1.0"] != DEATHS:
            siege.verdict.violations.append(f"{siege.roll.starts[f'{name}.1.0']} starts of the poison")
    return siege.verdict


def _started(siege: Siege, call_id: str, times: int) -> bool:
    return siege.roll.starts[call_id] == times


def _worker_of(siege: Siege, name: str) -> Post:
    def find() -> list[Post]:
        return [one.post for one in siege.side.victims("worker") if name in one.held and one.post]

    return wait_for(find, "who runs it")[0]
