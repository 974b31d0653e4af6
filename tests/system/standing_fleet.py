"""A fleet whose processes a test starts and ends one by one."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.system.fleet import Place, wait_for
from tests.system.servers import RedisServer

from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.presence import LiveProcess, live_processes


@dataclass(slots=True)
class StandingFleet:
    place: Place
    server: RedisServer
    started: "dict[str, list[subprocess.Popen[str]]]" = field(default_factory=dict)

    def orchestrator(self, grace: str = "30", **variables: str) -> "subprocess.Popen[str]":
        return self.start("skillfleet", "orchestrator", SKILLFLEET_GRACE_SECONDS=grace, **variables)

    def worker(self, grace: str = "30", concurrency: int = 1) -> "subprocess.Popen[str]":
        slots = ("--concurrency", str(concurrency))
        return self.start("skillfleet_workers", "worker", *slots, SKILLFLEET_GRACE_SECONDS=grace)

    def start(self, module: str, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
        """Once it says on its fleet that it lives."""
        process = self.place.start(*arguments, module=module, env=variables)
        self.started.setdefault(arguments[0], []).append(process)
        wait_for(lambda: process.pid in [one.pid for one in self.living()], f"{arguments[0]} is there")
        return process

    def living(self) -> list[LiveProcess]:
        with RedisUrls.of(self.place.settings).client() as client:
            return live_processes(client, self.place.settings.fleet)

    def heard_its_end(self, worker: "subprocess.Popen[str]") -> bool:
        """What it says when it is asked to end."""
        assert worker.poll() is None
        return self.place.log("worker").count("is asked to end") == len(self.started["worker"])

    def end(self, *names: str) -> None:
        """Those started under these names, all by default."""
        ending = [process for name in names or [*self.started] for process in self.started.get(name, [])]
        wait_for(lambda: all(_asked(process) for process in ending), "they end")


def _asked(process: "subprocess.Popen[str]") -> bool:
    """Once more; whether it has ended."""
    process.send_signal(signal.SIGTERM)
    if process.poll() is None:
        return False
    assert process.stdout
    process.stdout.close()
    return True


@contextmanager
def standing_fleet(folder: Path) -> Iterator[StandingFleet]:
    """With redis and nothing else yet. When it is over, nothing of it may live."""
    server = RedisServer(folder / "redis")
    place = Place(folder, {"SKILLFLEET_REDIS_URL": server.url})
    fleet = StandingFleet(place, server)
    try:
        with server:
            try:
                yield fleet
            finally:
                fleet.end()
    finally:
        left = place.end()
    assert not left


def code_of(process: "subprocess.Popen[str]") -> int:
    """Its exit code, once it has ended."""
    wait_for(lambda: process.poll() is not None, "it ends")
    assert process.returncode is not None
    return process.returncode
