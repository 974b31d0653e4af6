"""Every orchestrator and every worker is replaced, one after the other, while the fleet is at work."""

import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conformance.living import named
from tests.model_answers import plays
from tests.model_server import KEY, ModelServer
from tests.system.fleet import wait_for
from tests.system.replies import Held, call, python, replies
from tests.system.standing_fleet import StandingFleet, code_of, standing_fleet

from skillfleet.conversations.models import TERMINAL, Conversation
from skillfleet.fleet import Fleet
from skillfleet.llm.scripted import ScriptedModel

SCRIPT_S, SHORT_GRACE, LONG_GRACE = 4, "1", "30"
IDEMPOTENT = "---\nname: lab\ndescription: Tries.\nmetadata:\n  skillfleet:\n    effects: idempotent\n---\n"
AT_A_TIME, SLOTS = 8, 4
PATIENCE_S = 120.0
MARK = Held().mark
SLEEPS = f"""
import ctypes, time
ctypes.CDLL(None).prctl(15, b"{MARK}:up", 0, 0, 0)
time.sleep({SCRIPT_S})
print("slept")
"""
TURNS = ([call("list_skills"), python(SLEEPS, "a")], [python("print(6 * 7)", "b")], "${a.stdout} ${b.stdout}")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(plays(ScriptedModel.of(replies(TURNS)))) as server:
        yield server


@pytest.fixture
def standing(state_dir: Path) -> Iterator[StandingFleet]:
    with standing_fleet(state_dir) as fleet:
        (fleet.place.skills / "lab" / "SKILL.md").write_text(IDEMPOTENT)
        yield fleet


def restarted(process: "subprocess.Popen[str]", start: "Callable[[], subprocess.Popen[str]]") -> None:
    """Under load: while scripts run, and calls of the model's go out."""
    wait_for(lambda: len(named(MARK, "up")) > SLOTS, "scripts run on either worker")
    process.send_signal(signal.SIGTERM)
    assert code_of(process) == 0
    start()


def ended(fleet: Fleet, names: list[str]) -> list[Conversation]:
    """All of them."""
    left = set(names)

    def look() -> bool:
        left.difference_update([name for name in left if fleet.status(name).status in TERMINAL])
        return not left

    wait_for(look, "all conversations have ended", PATIENCE_S)
    return [fleet.transcript(name) for name in names]


def test_nothing_is_lost_paid_twice_or_done_twice(standing: StandingFleet, model: ModelServer) -> None:
    variables = {"LLM_API_KEY": KEY, "LLM_API_BASE_URL": model.base_url, "LLM_MODEL_NAME": "any"}

    def orchestrator() -> "subprocess.Popen[str]":
        return standing.orchestrator(LONG_GRACE, **variables)

    def worker() -> "subprocess.Popen[str]":
        return standing.worker(SHORT_GRACE, concurrency=SLOTS)

    olds = [(start(), start) for start in (worker, worker, orchestrator, orchestrator)]
    names: list[str] = []
    with standing.place.fleet() as fleet:
        for process, start in olds:
            names += [fleet.submit(f"Conversation {len(names) + n}.") for n in range(AT_A_TIME)]
            restarted(process, start)
        done = ended(fleet, names)
        results = Counter(
            f"{name} {entry.data['key']}"
            for name in names
            for entry in fleet.follow(name)
            if entry and entry.type == "result"
        )
    assert Counter((one.status, one.answer) for one in done) == {("completed", "slept 42"): len(names)}
    runs = [run for one in done for run in one.runs]
    assert Counter(run.status for run in runs) == {"succeeded": 3 * len(names)}
    assert (len(results), set(results.values())) == (len(runs), {1})
    assert {run.losses for run in runs} == {0}
    assert {one.dropped for one in done} == {0}
    assert max(run.ref.attempt for run in runs) > 1, "no script outlasted the grace time"
    asked = Counter((one.body["messages"][1]["content"], len(one.body["messages"])) for one in model.received)
    assert (len(asked), set(asked.values())) == (3 * len(names), {1})
