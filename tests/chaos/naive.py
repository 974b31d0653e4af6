"""The naive side: the same numbers of processes and slots as plain Celery workers."""

from collections import Counter
from pathlib import Path

from celery import Celery
from tests.system.fleet import wait_for

from .crew import Crew
from .roll import Roll
from .side import (
    ANSWER,
    CALLS,
    MODEL_S,
    ORCHESTRATORS,
    SCRIPT_S,
    SLOTS_OF_A_WORKER,
    WORKERS,
    Kill,
    Kind,
    Outcome,
    Victim,
)

CONVERSATIONS_AT_ONCE = 12
"""Of one worker for conversations: each is a process, which waits."""

ROOT = Path(__file__).parents[2]
APP = "tests.chaos.naive_app"


class Naive:
    name = "naive"
    careful = ""

    def __init__(self, crew: Crew, roll: Roll) -> None:
        self.crew, self.roll = crew, roll
        self.names: list[str] = []
        base = f"redis://127.0.0.1:{crew.redis.port}"
        self.app = Celery(APP, broker=f"{base}/2", backend=f"{base}/3", set_as_current=False)
        env = {
            "BENCH_BROKER": f"{base}/2",
            "BENCH_RESULTS": f"{base}/3",
            "CHAOS_CAREFUL": self.careful,
            "PYTHONPATH": str(ROOT),
        }
        for role, queue, processes, slots in (
            ("orchestrator", "conversations", ORCHESTRATORS, CONVERSATIONS_AT_ONCE),
            ("worker", "tools", WORKERS, SLOTS_OF_A_WORKER),
        ):
            for number in range(processes):
                name = f"{queue}{number}@chaos"
                crew.post(
                    role, "-m", "celery", "-A", APP, "worker", "-Q", queue, "-n", name, "-c", str(slots), env=env
                )
        wait_for(
            lambda: len(self.app.control.ping(timeout=1.0) or ()) == ORCHESTRATORS + WORKERS, "the workers are there"
        )

    def submit(self, count: int) -> None:
        for number in range(len(self.names), len(self.names) + count):
            name = f"conversation-{number}"
            scripts = [
                self.roll.script(str(call), SCRIPT_S, repr(f"{name}.{call}".encode())) for call in range(1, CALLS + 1)
            ]
            arguments = [name, scripts, MODEL_S, self.roll.port]
            self.app.send_task(f"{APP}.converse", arguments, queue="conversations")
            self.names.append(name)

    def victims(self, kind: Kind) -> list[Victim]:
        running = frozenset(name.partition(".")[0] for name in self.roll.running())
        if not running:
            return []
        if kind == "redis":
            return [Victim(kind, None, running)]
        at_work = [post for post in self.crew.of(kind) if post.alive and len(post.family()) > 1]
        return [Victim(kind, post) for post in at_work]

    def ended(self) -> int:
        with self.roll.lock:
            return len({name for name, _ in self.roll.answers})

    def outcome(self, kills: list[Kill]) -> Outcome:
        told = Counter[str]()
        for (name, _), times in self.roll.answers.items():
            told[name] += times
        right = {name for name, answer in self.roll.answers if answer == ANSWER}
        return Outcome(
            conversations=len(self.names),
            answered=sum(1 for name in self.names if told[name] == 1 and name in right),
            lost=sum(1 for name in self.names if not told[name]),
            wrong=sum(1 for name in self.names if told[name] and name not in right),
            twice=sum(1 for name in self.names if told[name] > 1),
            results=len(self.roll.ends),
            starts=self.roll.starts.total(),
            started_calls=len(self.roll.starts),
        )


class Careful(Naive):
    """Late acknowledgement, work taken back from lost workers, timeouts and retries."""

    name = "careful"
    careful = "yes"
