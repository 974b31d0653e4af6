"""up, orchestrator, archiver, flower: the processes of a fleet."""

import logging
import os
import socket
import sys
import threading
import time
from typing import Annotated

import redis
import typer
from rich.console import Console

from skillfleet_workers.cli import check_worker_settings
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import RedisUrls, load_settings
from skillfleet_workers.wire.fitness import require_fit
from skillfleet_workers.wire.parent import end_with_parent
from skillfleet_workers.wire.presence import Presence

from ..app import make_driver, make_ledger, make_presence, preload_provider
from ..errors import BadRequestError, NoBrokerError
from ..fleet import Fleet
from ..local.children import Child, ChildGaveUpError, Children
from ..local.lone import worker_environment
from ..settings import OrchestratorSettings
from .exits import USAGE, on_ending

LOOK_EVERY_S = 0.3
FLOWER_COLUMNS = "name,args,state,received,runtime,worker,uuid"


def orchestrator(
    slots: Annotated[int | None, typer.Option(min=1, max=2000, help="Conversations at once.")] = None,
) -> None:
    """Hold conversations with models: claim, ask, send tool calls. Run as many as you like."""
    _begin()
    given = {"slots": slots} if slots else {}
    settings = load_settings(OrchestratorSettings, **given)
    ledger = make_ledger(settings)
    presence = make_presence(settings, ledger.client)
    driver = make_driver(settings, ledger)
    _appear(settings, ledger.client, presence)
    preload_provider(settings)
    on_ending(lambda *_: driver.stop())
    driver.run()
    presence.close()


def archiver() -> None:
    """Write what happens to conversations into the history (docs/history.md). One is enough, more do no harm."""
    # Its database's libraries, which every other command would wait for too.
    from ..history.archiver import run_archiver  # noqa: PLC0415

    _begin()
    settings = load_settings(OrchestratorSettings)
    client, stop = RedisUrls.of(settings).client(), threading.Event()
    presence = make_presence(settings, client, "archiver")
    on_ending(lambda *_: stop.set())
    _appear(settings, client, presence)
    try:
        run_archiver(settings, client, stop)
    finally:
        presence.close()


def _begin() -> None:
    end_with_parent()
    logging.basicConfig(level="INFO", stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    for name in ("httpx", "alembic"):
        logging.getLogger(name).setLevel("WARNING")


def _appear(settings: OrchestratorSettings, client: redis.Redis, presence: Presence) -> None:
    """On the fleet."""
    try:
        require_fit(client)
        presence.start()
    except redis.RedisError as error:
        raise NoBrokerError(f"cannot use redis at {RedisUrls.of(settings).safe}: {error}") from None


def flower(
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 5555,
) -> None:
    """Flower over this fleet. FLOWER_BASIC_AUTH=user:password guards it."""
    end_with_parent()
    app = make_celery(load_settings(OrchestratorSettings))
    where = (f"--address={address}", f"--port={port}")
    app.start(argv=["flower", *where, f"--tasks-columns={FLOWER_COLUMNS}", "--loglevel=warning"])


def up(
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 1,
    with_flower: Annotated[bool, typer.Option("--flower/--no-flower", help="Watch it on a page.")] = True,
    flower_port: Annotated[int, typer.Option(min=1, max=65535)] = 5555,
) -> int:
    """A whole fleet in the foreground: redis, an orchestrator, workers, an archiver, Flower. Ctrl-C ends it."""
    settings = load_settings(OrchestratorSettings)
    check_worker_settings()
    if with_flower:
        _check_port(flower_port)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    stop = threading.Event()
    on_ending(lambda *_: stop.set())
    with Fleet(settings) as fleet:
        children = Children()
        try:
            for child in _fleet(settings, workers, flower_port if with_flower else None):
                children.start(child)
            _announce(console, settings, workers, flower_port if with_flower else None)
            while not stop.wait(LOOK_EVERY_S):
                if fleet.look_after():
                    console.print(f"{time.strftime('%H:%M:%S')} redis had died and is started again")
                for name in children.look_after():
                    console.print(f"{time.strftime('%H:%M:%S')} {name} had died and is started again")
        except ChildGaveUpError:
            return USAGE
        finally:
            console.print(f"stopping; what runs may finish for {settings.grace_s} s, Ctrl-C hands it back now")
            children.stop(settings.grace_s)
    return 0


def _fleet(settings: OrchestratorSettings, workers: int, flower_port: int | None) -> list[Child]:
    without_keys = worker_environment(settings)
    ours = {**os.environ, **without_keys}
    fleet = [Child("orchestrator", ("-m", "skillfleet", "orchestrator"), ours)]
    for number in range(1, workers + 1):
        fleet.append(Child(f"worker {number}", ("-m", "skillfleet_workers", "worker"), without_keys))
    if settings.keeps_history:
        fleet.append(Child("archiver", ("-m", "skillfleet", "archiver"), ours))
    if flower_port:
        arguments = ("-m", "skillfleet", "flower", "--port", str(flower_port))
        logins = {name: value for name, value in os.environ.items() if name.startswith("FLOWER_")}
        fleet.append(Child("flower", arguments, {**without_keys, **logins}))
    return fleet


def _announce(console: Console, settings: OrchestratorSettings, workers: int, flower_port: int | None) -> None:
    console.print(f"redis        {RedisUrls.of(settings).safe}")
    console.print(f"workers      {workers}, skills in {settings.skills_folder.resolve()}")
    if flower_port:
        console.print(f"flower       http://127.0.0.1:{flower_port}")
    console.print("Submit from another shell: skillfleet submit PROMPT. Ctrl-C ends the fleet.")


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise BadRequestError(f"--flower-port: {port} is taken; name another, or use --no-flower") from None
