"""A worker process, wired: Celery app, tools, runtime, heartbeat, control channel, presence."""

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from celery import Celery
from celery.apps import worker as celery_worker
from celery.worker import state as celery_state

from .control import ControlChannel
from .ending import Ending
from .heartbeat import Heartbeat
from .pool import Pool
from .routing import Routing
from .scratch import scratch_folder
from .settings import WorkerSettings
from .skills.roots import roots_of
from .skills.watching import Watching
from .tasks import CallRunner, register_tasks
from .terms import SkillTerms
from .watchdog import STALLED_AFTER_S, STALLED_EXIT, Watchdog
from .wire.blobs import Blobs
from .wire.calls import CallLedger
from .wire.celery import make_celery
from .wire.connection import RedisUrls, worker_name
from .wire.kept import KeptRuns
from .wire.keys import FleetKeys, route_queue
from .wire.presence import LiveProcess, Presence, live_processes
from .wire.snapshots import Snapshots
from .workshop import workshop

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Wired:
    """The app with its tasks, the worker's name, what proves that its calls live, and whose calls it takes."""

    app: Celery
    name: str
    heartbeat: Heartbeat
    routing: Routing


class Worker(celery_worker.Worker):
    """Celery's, whose end is ours: its own waits for what runs, however long."""

    ending: Ending
    consumer: Any

    def install_platform_tweaks(self, worker: object) -> None:
        """No handlers of signals."""

    def stop(self, in_sighandler: bool = False, exitcode: int | None = None) -> None:
        """Also when it was asked to over Celery's remote control."""
        self.ending.begin()
        super().stop(in_sighandler, exitcode)

    def end(self, exit_code: int = 0) -> None:
        """The second time: without any more grace. Safe in a signal handler."""
        if celery_state.should_stop is None:
            celery_state.should_stop = exit_code  # type: ignore[assignment]
            self.ending.begin(exit_code)
        else:
            self.ending.hurry()


@contextmanager
def wired(settings: WorkerSettings, *, queue: str = "", lone: bool = False) -> Iterator["Wired"]:
    """All that it keeps resident ends with the block."""
    with scratch_folder(settings.state_dir / "work") as scratch:
        yield from _wired(settings, scratch, queue, lone)


def _wired(settings: WorkerSettings, scratch: Path, queue: str, lone: bool) -> Iterator["Wired"]:
    with ExitStack() as opened:
        client = RedisUrls.of(settings).client()
        name, ttl_s = worker_name(), settings.result_ttl_hours * 3600
        snapshots = Snapshots(client, ttl_s)
        watching = opened.enter_context(Watching(root.path for root in roots_of(settings)))
        shop = workshop(settings, scratch, watching, snapshots.read)
        opened.callback(shop.runtime.close)
        ledger = CallLedger(client)
        heartbeat = Heartbeat(ledger)
        control = ControlChannel(client, FleetKeys(settings.fleet).control, heartbeat.call_off)
        app = make_celery(settings, queue=queue)
        app.conf.worker_consumer = f"{__package__}.consumer:Consumer"
        terms = SkillTerms(shop.catalog, lambda skill: shop.runtime.isolation_of(skill, skill.root))
        routing = Routing(
            snapshots,
            shop.offering.snapshot,
            lambda: [one for one in live_processes(client, settings.fleet) if one.serves(queue) and one.name != name],
        )
        runner = CallRunner(
            ledger,
            heartbeat,
            name,
            terms,
            Blobs(client, ttl_s),
            elsewhere=routing.elsewhere,
            files=shop.files,
            kept=KeptRuns(client),
        )
        register_tasks(app, shop.toolbox, runner)
        since = time.time()

        def describe() -> LiveProcess:
            routing.look()
            return LiveProcess(
                role="worker", name=name, pid=os.getpid(), since=since, lone=lone, queue=queue,
                slots=settings.concurrency, skills=tuple(skill.name for skill in shop.catalog.list()),
                isolation=shop.runtime.isolation, runtimes=shop.runtime.names,
                snapshot=routing.own.id, routes=routing.routes, health=shop.offering.health(),
            )  # fmt: skip

        presence = Presence(client, settings.fleet, describe, lambda: watching.mark)
        for resident in (heartbeat, control, presence, shop.tidying):
            resident.start()
            opened.callback(resident.close)
        yield Wired(app, name, heartbeat, routing)


def run_worker(settings: WorkerSettings, *, queue: str = "", lone: bool = False) -> int:
    """Serve calls until SIGTERM or SIGINT: then finish what runs within the grace time, and hand back what cannot (at
    once, with a second signal); the exit code. Who serves a single submit has nobody to finish it for."""
    logging.basicConfig(
        level=settings.log_level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # Celery's own lines per task: one would write scripts and their output into the log, one says what ours says.
    for name in ("celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(name).setLevel("WARNING")
    with wired(settings, queue=queue, lone=lone) as parts:
        return serve(parts, settings, grace_s=0 if lone else settings.grace_s)


def serve(parts: Wired, settings: WorkerSettings, *, grace_s: float, stalled_after_s: float = STALLED_AFTER_S) -> int:
    """The exit code: not 0 when it has stalled, and is to be started again."""
    worker = Worker(
        app=parts.app,
        hostname=f"worker@{parts.name}",
        pool=Pool,
        concurrency=settings.concurrency,
        without_gossip=True,
        without_mingle=True,
        loglevel=settings.log_level,
    )
    worker.ending = Ending(parts.heartbeat, grace_s)
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, lambda *_: worker.end())
    own_queue = parts.app.conf.task_default_queue

    def queues() -> frozenset[str]:
        return frozenset(route_queue(own_queue, route) for route in parts.routing.routes)

    parts.routing.follow = lambda: worker.consumer.take_from(queues())
    with RedisUrls.of(settings).client(broker=True) as broker:
        watchdog = Watchdog(
            waiting=lambda: sum(broker.llen(name) for name in (own_queue, *queues())),
            taken=lambda: celery_state.all_total_count[0],
            free=lambda: parts.heartbeat.takes_calls and parts.heartbeat.busy < settings.concurrency,
            stalled=lambda: worker.end(STALLED_EXIT),
            after_s=stalled_after_s,
        )
        with closing(watchdog):
            watchdog.start()
            parts.routing.follow()
            worker.start()
    return int(worker.exitcode or 0)
