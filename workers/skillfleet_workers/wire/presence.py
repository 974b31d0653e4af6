"""Who lives on a fleet: every orchestrator and worker says so every few seconds, under a key that expires."""

import logging
import threading
from collections.abc import Callable
from typing import Literal

import redis

from .contract import WireModel
from .keys import FleetKeys

EVERY_S = 3.0
EXPIRES_S = 12

Role = Literal["orchestrator", "worker"]
log = logging.getLogger(__name__)


class LiveProcess(WireModel):
    """`lone`: serves a single submit and takes nothing else. The rest is what `doctor` shows."""

    role: Role
    name: str
    pid: int
    since: float
    lone: bool = False
    slots: int = 0
    skills: tuple[str, ...] = ()
    isolation: str = ""
    runtimes: tuple[str, ...] = ()


class Presence:
    """Publishes `describe()` until closed, from a thread of its own: it must go on while tasks end."""

    def __init__(self, client: redis.Redis, fleet: str, describe: Callable[[], LiveProcess]) -> None:
        self._client = client
        self._fleet = FleetKeys(fleet)
        self._describe = describe
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        self._publish()
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        me = self._describe()
        self._client.delete(self._fleet.live(me.role, me.name))

    def _publish(self) -> None:
        me = self._describe()
        self._client.set(self._fleet.live(me.role, me.name), me.model_dump_json(), ex=EXPIRES_S)

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            try:
                self._publish()
            except redis.RedisError as error:
                log.warning("cannot reach redis to say that I live: %s", error)


def live_processes(client: redis.Redis, fleet: str, role: str = "*") -> list[LiveProcess]:
    names = sorted(client.scan_iter(FleetKeys(fleet).live(role, "*"), count=1000))
    return [LiveProcess.model_validate_json(text) for text in client.mget(names) if text] if names else []
