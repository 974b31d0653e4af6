"""The canvas' side: a `celery worker` of its own, prefork as by default, on the redis of ours."""

import os
import time
from typing import Any
from uuid import uuid4

from celery import chain, chord

from skillfleet.local.children import Child, Children
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import RedisUrls

from ..fleet import BenchError, interpreter

DATABASES = (4, 5, 6)
"""Broker, results, and notes of what was done."""


class Canvas:
    """`late`: messages are acknowledged when a task has ended (acks_late, reject_on_worker_lost), not before."""

    def __init__(self, settings: OrchestratorSettings, children: Children, slots: int, *, late: bool = False) -> None:
        socket = RedisUrls.of(settings).url.removeprefix("unix://")
        broker, results = (f"redis+socket://{socket}?virtual_host={number}" for number in DATABASES[:2])
        ours = {
            "BENCH_BROKER": broker,
            "BENCH_RESULTS": results,
            "BENCH_NOTES": f"unix://{socket}?db={DATABASES[2]}",
            "BENCH_INTERPRETER": str(interpreter(settings.state_dir.parent)),
            "BENCH_ACKS_LATE": "1" if late else "0",
        }
        os.environ.update(ours)
        self._queue = f"canvas-{int(late)}"
        arguments = ("-m", "celery", "-A", "bench.plans.canvas_app", "worker", "-n", f"{self._queue}@bench")
        log = settings.state_dir / f"{self._queue}.log"
        self.child = Child(self._queue, (*arguments, "-Q", self._queue, "-c", str(slots)), {**os.environ}, log)
        children.start(self.child)
        from . import canvas_app  # noqa: PLC0415  it reads its addresses from the environment

        self._app = canvas_app

    def forget(self) -> None:
        """Celery's results unsubscribe when they are collected, which may be when redis is gone."""
        self._app.app.backend.result_consumer.subscribed_to.clear()  # type: ignore[attr-defined]

    def begin(self, shape: str, count: int, task: str, run: str) -> Any:
        one = getattr(self._app, task)
        parts = [one.si(run, f"t{index}").set(queue=self._queue) for index in range(count)]
        if shape == "chain":
            return chain(*parts).apply_async()
        return chord(parts)(self._app.joined.s().set(queue=self._queue))

    def measure(self, shape: str, count: int, task: str) -> float:
        """Seconds until its result is known."""
        run = uuid4().hex
        began = time.perf_counter()
        begun = self.begin(shape, count, task, run)
        if begun.get(timeout=120) != 0:
            raise BenchError("the canvas went wrong")
        took = time.perf_counter() - began
        if self.lost_and_twice(run, count) != (0, 0):
            raise BenchError("the canvas lost a task, or ran one twice")
        return took

    def lost_and_twice(self, run: str, count: int) -> tuple[int, int]:
        """Tasks that never came to their end, and those that did more than once."""
        found = self._app.done.hgetall(run)
        assert isinstance(found, dict)
        return count - len(found), sum(int(times) > 1 for times in found.values())
