"""The processes of a fleet and its redis, supervised: whoever dies is started again, as by systemd or Kubernetes."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil
from tests.system.fleet import PATIENCE_S, Place
from tests.system.servers import RedisServer

from skillfleet_workers.runtimes.cgroups import PREFIX
from skillfleet_workers.watchdog import STALLED_EXIT
from skillfleet_workers.wire.connection import NO_BROKER_EXIT

RESTART_AFTER_S = 0.3
LOOK_EVERY_S = 0.05
CGROUPS = Path("/sys/fs/cgroup")


@dataclass(slots=True)
class Post:
    """One process of a fleet, whoever holds the place now."""

    role: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    vacant_since: float = 0.0
    struck: bool = False

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def family(self) -> list[psutil.Process]:
        try:
            me = psutil.Process(self.pid)
            return [me, *me.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


@dataclass
class Crew:
    """`deserters`: who ended without having been told to; `giving_up`: those of them that say with their exit code
    that they are to be started again, for redis is gone."""

    place: Place
    redis: RedisServer
    posts: list[Post] = field(default_factory=list)
    deserters: list[str] = field(default_factory=list)
    giving_up: list[str] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    """Of all that ever held a post."""
    _over: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _redis_down_at: float | None = None

    def post(self, role: str, *arguments: str, env: Mapping[str, str] | None = None) -> Post:
        made = Post(role, arguments, self.place.environment(env))
        self._fill(made)
        self.posts.append(made)
        return made

    def of(self, role: str) -> list[Post]:
        return [post for post in self.posts if post.role == role]

    def __enter__(self) -> Self:
        self._watch = threading.Thread(target=self._look_after, name="supervisor", daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join(PATIENCE_S)
        self.dismiss()

    def dismiss(self) -> None:
        """SIGTERM, then SIGKILL."""
        living = [post.process for post in self.posts if post.process and post.alive]
        for process in living:
            process.terminate()
        give_up = time.monotonic() + PATIENCE_S
        for process in living:
            try:
                process.wait(max(0.1, give_up - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.deserters.append(f"{process.pid} did not end when asked to")
                _killpg(process.pid)
                process.wait()

    def kill(self, post: Post, *, group: bool = False) -> float | None:
        """SIGKILL to one that lives; when. None: it has died by itself just before."""
        with self._turn:
            if not post.alive:
                return None
            post.struck = True
            at = time.time()
            _killpg(post.pid) if group else os.kill(post.pid, signal.SIGKILL)
            return at

    def terminate(self, post: Post) -> None:
        with self._turn:
            assert post.process and post.alive
            post.struck = True
            post.process.terminate()

    def kill_redis(self) -> float:
        with self._turn:
            at = time.time()
            self.redis.kill()
            self._redis_down_at = time.monotonic()
            return at

    def _look_after(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            with self._turn:
                for post in self.posts:
                    self._check(post)
                if self._redis_down_at is not None and time.monotonic() > self._redis_down_at + RESTART_AFTER_S:
                    self.redis.start()
                    self._redis_down_at = None

    def _check(self, post: Post) -> None:
        if post.process is None:
            if time.monotonic() > post.vacant_since + RESTART_AFTER_S:
                self._fill(post)
        elif (code := post.process.poll()) is not None:
            if not post.struck:
                told = self.giving_up if code in (NO_BROKER_EXIT, STALLED_EXIT) else self.deserters
                told.append(f"{post.role} {post.pid} ended with {code}")
            post.process, post.vacant_since = None, time.monotonic()

    def _fill(self, post: Post) -> None:
        post.struck = False
        with self.log(post.role).open("ab") as log:
            post.process = subprocess.Popen(
                [sys.executable, *post.arguments],
                cwd=self.place.folder, env=dict(post.environment), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.pids.add(post.process.pid)

    def log(self, role: str) -> Path:
        return self.place.folder / f"{role}.log"


def _killpg(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


@contextlib.contextmanager
def manned(folder: Path) -> Iterator[Crew]:
    """A redis of its own and nobody else yet; in the end all is gone, or told in `deserters`."""
    server = RedisServer(folder / "redis")
    place = Place(folder, {"SKILLFLEET_REDIS_URL": server.url})
    with server:
        crew = Crew(place, server)
        try:
            with crew:
                yield crew
        finally:
            server.kill()
            left = place.end()
            crew.deserters += [f"left running: {words}" for words in left]
            crew.deserters += [f"control group left: {name}" for name in _control_groups(crew.pids)]


def _control_groups(owners: set[int]) -> list[str]:
    # Not rglob, which fails where a folder goes meanwhile.
    names = {name for _, folders, _ in os.walk(CGROUPS) for name in folders if name.startswith(f"{PREFIX}-")}
    return sorted(name for name in names if int(name.split("-")[1]) in owners)
