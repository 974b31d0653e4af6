"""A worker that notes when each part of a hop is done: `python -m bench.hop_worker QUEUE FILE [results] [events]`.

Its clock is CLOCK_MONOTONIC, which all processes of a machine share.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from celery import signals
from celery.apps.worker import Worker

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.settings import WorkerSettings
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.tasks import CallRunner, Tool, register_tasks
from skillfleet_workers.tools import Toolbox
from skillfleet_workers.wire.calls import CallLedger, CallResult, Claimed, Committed
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import RedisUrls, load_settings
from skillfleet_workers.wire.contract import CallMessage, CallRef, Effects, TaskSpec
from skillfleet_workers.wire.parent import end_with_parent

noted: dict[str, dict[str, float]] = {}
"""Task id to part to when it was done."""


def note(task_id: str, part: str) -> None:
    noted.setdefault(task_id, {})[part] = time.perf_counter()


class NotingLedger(CallLedger):
    def claim(self, ref: CallRef, worker: str, effects: Effects | None = None) -> Claimed:
        answer = super().claim(ref, worker, effects)
        note(ref.task_id, "claimed")
        return answer

    def commit(self, ref: CallRef, result: CallResult, retries: int = 0) -> Committed:
        note(ref.task_id, "ran")
        answer = super().commit(ref, result, retries)
        note(ref.task_id, "committed")
        return answer


class NotingRunner(CallRunner):
    def run(self, spec: TaskSpec[Any], tool: Tool, message: CallMessage) -> dict[str, Any]:
        note(message.ref.task_id, "begun")
        result = super().run(spec, tool, message)
        note(message.ref.task_id, "returned")
        return result


def main(queue: str, file: Path, kept: list[str]) -> None:
    end_with_parent()
    settings = load_settings(WorkerSettings)
    ledger = NotingLedger(RedisUrls.of(settings).client())
    runtime = ProcessRuntime(settings.state_dir / "work")
    toolbox = Toolbox(
        catalog=SkillCatalog(settings.skills_folder),
        environments=Environments(settings.state_dir / "environments"),
        runtime=runtime,
        script_timeout_s=30,
        artifacts_folder=settings.state_dir / "artifacts",
    )
    app = make_celery(settings, queue=queue)
    app.conf.update(task_ignore_result="results" not in kept, worker_send_task_events="events" in kept)
    register_tasks(app, toolbox, NotingRunner(ledger, Heartbeat(ledger), "bench"))

    @signals.task_received.connect(weak=False)
    def received(request: Any, **_: Any) -> None:
        note(request.id, "received")

    @signals.task_postrun.connect(weak=False)
    def stored(task_id: str, **_: Any) -> None:
        note(task_id, "stored")

    worker = Worker(
        app=app, hostname=f"{queue}@bench", pool="threads", concurrency=settings.concurrency,
        without_gossip=True, without_mingle=True, loglevel="WARNING",
    )  # fmt: skip
    try:
        worker.start()
    finally:
        runtime.close()
        file.write_text(json.dumps(noted))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
