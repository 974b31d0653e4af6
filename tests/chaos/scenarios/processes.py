"""Processes that are told to go, are stopped and go on, or lose what they stand on."""

import contextlib
import random
import signal
import time
from functools import partial

import psutil
from tests.conformance.living import gone
from tests.system.fleet import wait_for

from skillfleet.conversations.ledger import LEASE_S
from skillfleet.conversations.schedule import LOST_AFTER_S
from skillfleet_workers.wire.presence import live_processes

from ..crew import Crew, Post
from .scenario import Verdict
from .siege import Siege, besieged


def rolling_sigterm(_: random.Random, full: bool) -> Verdict:
    """Every process of the fleet in turn, under load; the next when its successor serves. Nothing is run twice."""
    with besieged() as siege:
        siege.submit(80 if full else 24)
        siege.in_the_midst()
        for post in siege.crew.posts:
            before = post.pid
            siege.crew.terminate(post)
            wait_for(partial(_serves, siege, post, before), "its successor serves")
        siege.all_end()
        if extra := siege.roll.starts.total() - 3 * len(siege.side.ids):
            siege.verdict.violations.append(f"{extra} scripts were run again")
    return siege.verdict


def _serves(siege: Siege, post: Post, before: int) -> bool:
    present = {one.pid for one in live_processes(siege.side.client, siege.side.settings.fleet)}
    return post.alive and post.pid != before and post.pid in present


def stopped_worker(_: random.Random, full: bool) -> Verdict:
    """SIGSTOP of a worker in mid-script until its calls are lost and run elsewhere, then SIGCONT."""
    with besieged() as siege:
        siege.submit(20, script_s=0.5)
        victim = wait_for(lambda: siege.side.victims("worker"), "a worker runs scripts")[0]
        assert victim.post
        _stop(victim.post, LOST_AFTER_S + (12 if full else 4))
        siege.all_end()
    return siege.verdict


def stopped_orchestrator(_: random.Random, full: bool) -> Verdict:
    """SIGSTOP of the only orchestrator in mid-model-call past its lease, while another one comes; then SIGCONT:
    what it still has to say is not heard."""
    with besieged(orchestrators=1) as siege:
        siege.submit(20, model_s=1.0)
        (victim,) = wait_for(lambda: siege.side.victims("orchestrator"), "models are asked")
        assert victim.post
        siege.crew.post("orchestrator", "-m", "skillfleet", "orchestrator")
        _stop(victim.post, LEASE_S + (15 if full else 5))
        siege.all_end()
    return siege.verdict


def _stop(post: Post, seconds: float) -> None:
    assert post.alive
    process = psutil.Process(post.pid)
    process.suspend()
    time.sleep(seconds)
    assert process.status() == psutil.STATUS_STOPPED
    process.resume()


def sandbox_killed(chance: random.Random, full: bool) -> Verdict:
    """SIGKILL of what stands between a script and its worker. The worker lives on and runs again what it
    lost, and what is asked next works."""
    with besieged(orchestrators=1, workers=1) as siege:
        worker = siege.crew.of("worker")[0].pid
        for _ in range(6 if full else 2):
            siege.submit(1, script_s=1.0)
            siege.in_the_midst()
            between = _between(siege.crew, worker)
            victim = chance.choice(between)
            assert victim.is_running()
            siege.verdict.facts.append(f"killed {_role(victim)}")
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.send_signal(signal.SIGKILL)
            name = siege.side.ids[-1]
            wait_for(lambda: siege.side.ended() == len(siege.side.ids), f"{name} has ended")
            wait_for(partial(gone, [victim]), "the killed is gone")
        if siege.crew.of("worker")[0].pid != worker:
            siege.verdict.violations.append("the worker died with its sandbox")
        hurt, siege.side.ids = siege.side.ids, []
        siege.submit(3)
        siege.all_end()
        with siege.side.fleet() as fleet:
            statuses = [[call.status for call in fleet.status(name).tool_calls] for name in hurt]
        siege.verdict.facts.append(f"the hurt calls: {statuses}")
        if any("lost" in of_one for of_one in statuses):
            siege.verdict.violations.append("a call was given up that could be run again")
    return siege.verdict


def _between(crew: Crew, worker: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(worker).children(recursive=True) if _role(one)]


def _role(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        if words and words[0].endswith("bwrap"):
            return "bubblewrap"
        if "inside" in words or any("inside.init" in word for word in words):
            return "warm interpreter"
        if any(word.endswith("supervisor.py") for word in words):
            return "supervisor"
    return ""
