"""Who lives on a fleet: its processes say so every few seconds; who falls silent is forgotten."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Literal, cast

import redis
from pydantic import Field, ValidationError

from .contract import WireModel
from .keys import FleetKeys

EVERY_S = 3.0
LOOK_S = 0.2
SILENT_S = 12.0

Role = Literal["orchestrator", "worker", "archiver"]
log = logging.getLogger(__name__)


class LiveProcess(WireModel):
    """`lone`: serves a single submit and takes nothing else; `queue`: where it takes its calls from, empty: from the
    fleet's own. `snapshot`: the id of the Snapshot of its skills; `routes`: whose calls it takes besides; `health`:
    of the skills that are not healthy, by name, where that is not the highest version by `name@version`. The rest is
    what `doctor` shows."""

    role: Role
    name: str
    pid: int
    since: float
    lone: bool = False
    queue: str = ""
    slots: int = 0
    skills: tuple[str, ...] = ()
    isolation: str = ""
    runtimes: tuple[str, ...] = ()
    snapshot: str = ""
    routes: tuple[str, ...] = ()
    health: dict[str, str] = Field(default_factory=dict)

    @property
    def member(self) -> str:
        return f"{self.role}:{self.name}"

    def serves(self, queue: str) -> bool:
        """Whether it is a worker that takes calls from there."""
        return self.role == "worker" and self.queue == queue and bool(queue) == self.lone


class Presence:
    """Publishes `describe()` until closed, from a thread of its own: it must go on while tasks end. `mark`: when what
    it gives changes, so has what is described, which is then told at once."""

    def __init__(
        self,
        client: redis.Redis,
        fleet: str,
        describe: Callable[[], LiveProcess],
        mark: Callable[[], object] = lambda: None,
    ) -> None:
        self._client = client
        self._keys = FleetKeys(fleet)
        self._describe, self._mark = describe, mark
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        """Raises redis.RedisError when the first word cannot be said."""
        self._publish()
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        try:
            _forget(self._client, self._keys, [self._describe().member])
        except redis.RedisError as error:
            log.warning("cannot reach redis to say goodbye: %s", error)

    def _publish(self) -> None:
        me = self._describe()
        pipe = self._client.pipeline()
        pipe.zadd(self._keys.live, {me.member: _now(self._client)})
        pipe.hset(self._keys.about, me.member, me.model_dump_json())
        pipe.execute()

    def _run(self) -> None:
        told, due = self._mark(), time.monotonic() + EVERY_S
        while not self._stop.wait(LOOK_S):
            mark = self._mark()
            if mark == told and time.monotonic() < due:
                continue
            told, due = mark, time.monotonic() + EVERY_S
            try:
                self._publish()
            except redis.RedisError as error:
                log.warning("cannot reach redis to say that I live: %s", error)
            except Exception:
                log.exception("cannot say that I live")


def live_processes(client: redis.Redis, fleet: str) -> list[LiveProcess]:
    """By role and name. Those that have been silent for long are forgotten on the way."""
    names = FleetKeys(fleet)
    heard = cast(list[tuple[str, float]], client.zrange(names.live, 0, -1, withscores=True))
    if not heard:
        return []
    horizon = _now(client) - SILENT_S
    if silent := [member for member, at in heard if at < horizon]:
        _forget(client, names, silent)
    living = sorted(member for member, at in heard if at >= horizon)
    about = cast(list[str | None], client.hmget(names.about, living)) if living else []
    return [known for text in about if text and (known := _known(text))]


def _known(text: str) -> LiveProcess | None:
    """None: of a kind that only a later release knows."""
    try:
        return LiveProcess.model_validate_json(text)
    except ValidationError:
        return None


def _forget(client: redis.Redis, names: FleetKeys, members: list[str]) -> None:
    pipe = client.pipeline()
    pipe.zrem(names.live, *members)
    pipe.hdel(names.about, *members)
    pipe.execute()


def _now(client: redis.Redis) -> float:
    """By redis' clock: those of the fleet's machines may differ."""
    seconds, micros = client.time()
    return seconds + micros / 1e6
