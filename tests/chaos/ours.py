"""Our side: two orchestrators and three workers as an operator starts them, and what their ledger tells."""

import json
import secrets
import socket
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from typing import Self

from tests.system.fleet import wait_for
from tests.system.replies import python

from skillfleet.app import make_ledger
from skillfleet.conversations.models import TERMINAL
from skillfleet.fleet import Fleet
from skillfleet.submission import Submission
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.calls import CallRecord, parse_records
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.presence import live_processes

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
from .verdict import judge

SKILL = """---
name: lab
description: A bench for scripts.
metadata: {skillfleet: {effects: idempotent, network: host}}
---
"""


class Ours:
    name = "skillfleet"

    def __init__(
        self,
        crew: Crew,
        roll: Roll,
        *,
        orchestrators: int = ORCHESTRATORS,
        workers: int = WORKERS,
        envs: Sequence[Mapping[str, str]] = ({},),
    ) -> None:
        """`envs`: of the orchestrators, in turn."""
        self.crew, self.roll = crew, roll
        (crew.place.skills / "lab" / "SKILL.md").write_text(SKILL)
        self.settings = crew.place.settings
        self.client = RedisUrls.of(self.settings).client()
        self.ids: list[str] = []
        self.open: set[str] = set()
        for env in islice(cycle(envs), orchestrators):
            crew.post("orchestrator", "-m", "skillfleet", "orchestrator", env=env)
        slots = {"SKILLFLEET_WORKER_CONCURRENCY": str(SLOTS_OF_A_WORKER)}
        for _ in range(workers):
            crew.post("worker", "-m", "skillfleet_workers", "worker", env=slots)
        with self.fleet() as fleet:
            wait_for(lambda: len(fleet.running()) == orchestrators + workers, "the fleet is there")

    def model(self, script_s: float = SCRIPT_S, model_s: float = MODEL_S) -> str:
        """Three turns with one call each, then what the three scripts printed."""
        scripts = [self.roll.script(str(number), script_s) for number in range(1, CALLS + 1)]
        return self.model_of(scripts, "-".join(f"${{c{n}.stdout}}" for n in range(1, CALLS + 1)), model_s)

    def model_of(self, scripts: Sequence[str], text: str, delay_s: float = 0.0) -> str:
        """A turn for each of the scripts, and the last words; the calls are named c1, c2, ..."""
        replies: list[object] = [
            {"calls": [python(script, f"c{number}")], "delay_s": delay_s}
            for number, script in enumerate(scripts, start=1)
        ]
        replies.append({"text": text, "delay_s": delay_s})
        path = self.crew.place.folder / f"model-{secrets.token_hex(4)}.json"
        path.write_text(json.dumps({"replies": replies}))
        return f"scripted:{path}"

    def submit(self, count: int, model: str = "") -> None:
        model = model or self.model()
        asked = [Submission.of({"prompt": "Add up.", "model": model}) for _ in range(count)]
        with self.fleet() as fleet:
            self.watch(list(fleet.submit_batch(asked, detach=True)))

    def watch(self, accepted: Sequence[str]) -> None:
        self.ids += accepted
        self.open |= set(accepted)

    def straight(self) -> Self:
        """From now on by the way that the place's variables tell, which need not be the fleet's."""
        self.settings = self.crew.place.settings
        self.client = RedisUrls.of(self.settings).client()
        return self

    def fleet(self) -> Fleet:
        return Fleet(self.settings)

    def ended(self) -> int:
        for name, status, _ in self._states(sorted(self.open)):
            if status in TERMINAL:
                self.open.discard(name)
        return len(self.ids) - len(self.open)

    def asking(self) -> frozenset[str]:
        """Conversations that an orchestrator holds while a model thinks."""
        states = self._states(sorted(self.open))
        return frozenset(name for name, status, out in states if status == "running" and not out)

    def at_work(self) -> dict[str, set[str]]:
        """By worker, the conversations whose scripts it runs."""
        running = self.roll.running()
        found: dict[str, set[str]] = defaultdict(set)
        for name, records in self._records(sorted({call_id.split(".")[0] for call_id in running})):
            for key, record in records.items():
                if record.result is None and f"{name}.{key}" in running:
                    found[record.worker].add(name)
        return found

    def victims(self, kind: Kind) -> list[Victim]:
        if kind == "orchestrator":
            serving = {one.pid for one in live_processes(self.client, self.settings.fleet)}
            asking = self.asking()
            posts = [post for post in self.crew.of(kind) if post.alive and post.pid in serving]
            return [Victim(kind, post, asking) for post in posts if asking]
        at_work = self.at_work()
        if kind == "redis":
            held = frozenset().union(self.asking(), *at_work.values())
            return [Victim(kind, None, held)] if held else []
        host = socket.gethostname()
        named = {f"{host}-{post.pid}": post for post in self.crew.of("worker") if post.alive}
        return [Victim(kind, named[who], frozenset(held)) for who, held in at_work.items() if who in named]

    def outcome(self, kills: list[Kill]) -> Outcome:
        ledger = make_ledger(self.settings)
        streams = {name: ledger.entries(name, "0", 0) for name in self.ids}
        found = judge(streams, kills, ANSWER)
        found.starts, found.started_calls = self.roll.starts.total(), len(self.roll.starts)
        if running := self.roll.running():
            found.violations.append(f"{len(running)} scripts still run: {sorted(running)[:3]}")
        due = self.client.zcard(keys.FleetKeys(self.settings.fleet).due)
        if due:
            found.violations.append(f"{due} conversations are still due")
        return found

    def _states(self, names: list[str]) -> Iterable[tuple[str, str, str]]:
        with self.client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hmget(keys.state(name), "status", "out")
            for name, (status, out) in zip(names, pipe.execute(), strict=True):
                yield name, status, out

    def _records(self, names: list[str]) -> Iterable[tuple[str, dict[str, CallRecord]]]:
        with self.client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hgetall(keys.calls(name))
            for name, fields in zip(names, pipe.execute(), strict=True):
                yield name, parse_records(fields)
