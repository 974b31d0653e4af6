"""One hop through Celery by part, and what results and events cost. The tool is `list_skills`: it does next to
nothing, so that what is left is the hop."""

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import redis

from skillfleet.local.children import Child, Children
from skillfleet.local.lone import worker_environment
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import LIST_SKILLS

from .fleet import ToolCalls
from .measure import interleaved

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "as shipped": ("results", "events"),
    "without events": ("results",),
    "without results": ("events",),
    "without both": (),
}
PARTS = ("sent", "received", "begun", "claimed", "ran", "committed", "known", "returned", "stored")
INSIDE_LUA = frozenset({"time", "hincrby", "hmget", "hget", "hset", "hexists", "xadd", "zadd", "ltrim", "expire"})


@dataclass(slots=True)
class Hops:
    """One setting: its worker, its calls, and what they took."""

    calls: ToolCalls
    notes: Path
    sent_by: dict[str, dict[str, float]] = field(default_factory=dict)
    commands: dict[str, float] = field(default_factory=dict)

    def run(self, count: int) -> list[float]:
        refs = self.calls.wanted(count, LIST_SKILLS.tool)
        took = []
        for ref in refs:
            began = time.perf_counter()
            self.calls.send(ref, LIST_SKILLS, {})
            sent = time.perf_counter()
            self.calls.wait_for([ref])
            known = time.perf_counter()
            self.sent_by[ref.task_id] = {"began": began, "sent": sent, "known": known}
            took.append((known - began) * 1000)
        return took

    def count_commands(self, client: redis.Redis, count: int) -> None:
        refs = self.calls.wanted(count, LIST_SKILLS.tool)
        before = _commands(client)
        for ref in refs:
            self.calls.send(ref, LIST_SKILLS, {})
            self.calls.wait_for([ref])
        after = _commands(client)
        more = {name: (calls - before.get(name, 0)) / count for name, calls in after.items()}
        self.commands = {name: calls for name, calls in more.items() if calls >= 0.4}

    def timeline(self) -> dict[str, float]:
        """Part to the median of when it was done, in ms since the send began. Call after the worker's end."""
        noted = json.loads(self.notes.read_text())
        moments: dict[str, list[float]] = {part: [] for part in PARTS}
        for task_id, ours in self.sent_by.items():
            for part, at in (ours | noted[task_id]).items():
                if part in moments:
                    moments[part].append((at - ours["began"]) * 1000)
        return {part: statistics.median(found) for part, found in moments.items()}


def measure_hops(
    settings: OrchestratorSettings, rounds: int, times: int
) -> tuple[dict[str, Hops], dict[str, list[float]]]:
    """Each setting with a worker of its own, one call at a time, in alternating rounds."""
    children = Children()
    hops = {name: _hops(settings, children, name, kept) for name, kept in SETTINGS.items()}
    try:
        for one in hops.values():
            one.run(5)
            one.sent_by.clear()
        took = interleaved({name: partial(one.run, times) for name, one in hops.items()}, rounds)
        with RedisUrls.of(settings).client() as client:
            for one in hops.values():
                one.count_commands(client, times)
    finally:
        children.stop()
    return hops, took


def _hops(settings: OrchestratorSettings, children: Children, name: str, kept: tuple[str, ...]) -> Hops:
    queue = "hop-" + name.replace(" ", "-")
    notes = settings.state_dir / f"{queue}.json"
    environment = worker_environment(settings) | {"SKILLFLEET_WORKER_CONCURRENCY": "2"}
    arguments = ("-m", "bench.hop_worker", queue, str(notes), *kept)
    children.start(Child(queue, arguments, environment, settings.state_dir / "hop.log"))
    calls = ToolCalls(settings, queue=queue)
    calls.app.conf.task_send_sent_event = "events" in kept
    return Hops(calls, notes)


def _commands(client: redis.Redis) -> dict[str, int]:
    stats = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): int(found["calls"]) for name, found in stats.items()}
