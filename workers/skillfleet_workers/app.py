"""A worker process, wired: Celery app, tools, runtime, heartbeat, control channel, presence."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from celery import Celery
from celery.apps.worker import Worker

from .control import ControlChannel
from .environments.build import Environments
from .heartbeat import Heartbeat
from .runtimes.host import host_runtime
from .runtimes.isolation import at_least
from .scratch import scratch_folder
from .settings import WorkerSettings
from .skills.catalog import SkillCatalog
from .tasks import CallRunner, register_tasks
from .terms import SkillTerms
from .tools import Toolbox
from .wire.artifacts import prune_artifacts
from .wire.blobs import Blobs
from .wire.calls import CallLedger
from .wire.celery import make_celery
from .wire.connection import RedisUrls, SettingsError, worker_name
from .wire.keys import FleetKeys
from .wire.presence import LiveProcess, Presence


@contextmanager
def wired(settings: WorkerSettings, *, queue: str = "", lone: bool = False) -> Iterator[tuple[Celery, str]]:
    """The app with its tasks, and the worker's name; all that it keeps resident ends with the block."""
    with scratch_folder(settings.state_dir / "work") as scratch:
        yield from _wired(settings, scratch, queue, lone)


def _wired(settings: WorkerSettings, scratch: Path, queue: str, lone: bool) -> Iterator[tuple[Celery, str]]:
    client = RedisUrls.of(settings).client()
    name = worker_name()
    catalog = SkillCatalog(settings.skills_folder)
    runtime = host_runtime(
        scratch,
        settings.min_isolation,
        fleet=settings.fleet,
        warm_mb=settings.warm_mb,
        image_build_timeout_s=settings.build_timeout_s,
    )
    if not at_least("process", settings.min_isolation) and (refusal := runtime.refusal):
        runtime.close()
        raise SettingsError(f"SKILLFLEET_MIN_ISOLATION: {refusal}")
    artifacts = settings.state_dir / "artifacts"
    prune_artifacts(artifacts, settings.result_ttl_hours * 3600)
    toolbox = Toolbox(
        catalog=catalog,
        environments=Environments(
            settings.state_dir / "environments",
            settings.build_timeout_s,
            max_bytes=settings.environments_max_mb * 1_000_000,
        ),
        runtime=runtime,
        script_timeout_s=settings.script_timeout_s,
        script_cpus=settings.script_cpus,
        artifacts_folder=artifacts,
    )
    ledger = CallLedger(client)
    heartbeat = Heartbeat(ledger)
    control = ControlChannel(client, FleetKeys(settings.fleet).control, heartbeat.call_off)
    app = make_celery(settings, queue=queue)
    app.conf.worker_consumer = f"{__package__}.consumer:Consumer"
    blobs = Blobs(client, settings.result_ttl_hours * 3600)
    terms = SkillTerms(catalog, lambda skill: runtime.isolation_of(skill, skill.root))
    register_tasks(app, toolbox, CallRunner(ledger, heartbeat, name, terms, blobs))
    since = time.time()

    def describe() -> LiveProcess:
        skills = tuple(skill.name for skill in catalog.list(None))
        return LiveProcess(
            role="worker", name=name, pid=os.getpid(), since=since, lone=lone, queue=queue,
            slots=settings.concurrency, skills=skills, isolation=runtime.isolation, runtimes=runtime.names,
        )  # fmt: skip

    presence = Presence(client, settings.fleet, describe)
    heartbeat.start()
    control.start()
    presence.start()
    try:
        yield app, name
    finally:
        presence.close()
        control.close()
        heartbeat.close()
        runtime.close()


def run_worker(settings: WorkerSettings, *, queue: str = "", lone: bool = False) -> int:
    """Serve calls until SIGTERM (finish what runs) or SIGINT; the exit code."""
    logging.basicConfig(
        level=settings.log_level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # Celery's own line per task would write scripts and their output into the log.
    logging.getLogger("celery.app.trace").setLevel("WARNING")
    with wired(settings, queue=queue, lone=lone) as (app, name):
        worker = Worker(
            app=app,
            hostname=f"worker@{name}",
            pool="threads",
            concurrency=settings.concurrency,
            without_gossip=True,
            without_mingle=True,
            loglevel=settings.log_level,
        )
        worker.start()
        return int(worker.exitcode or 0)
