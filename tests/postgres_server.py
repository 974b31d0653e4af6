"""A real PostgreSQL of a test's own: Debian's package, a private cluster, one unix socket and no port."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

DEBIANS = "/usr/lib/postgresql"
WITHIN_S = 60.0
# Nothing of a test's database has to survive the machine's end.
FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "listen_addresses=")


def binary(name: str) -> str | None:
    """The newest that is installed."""
    found = sorted(Path(DEBIANS).glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(found[-1]) if found else shutil.which(name)


@dataclass(slots=True)
class Postgres:
    folder: Path
    databases: int = 0
    _process: "subprocess.Popen[bytes] | None" = field(default=None)

    def start(self) -> None:
        command = (binary("postgres") or "", "-D", str(self.folder / "data"), "-k", str(self.folder), *FAST)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, user=_user())
        self._wait()

    def kill(self) -> None:
        """As when its machine dies: what it had committed is there when it starts again."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def new_database(self) -> str:
        """Its URL."""
        self.databases += 1
        name = f"history_{self.databases}"
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def _end(self, number: int) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait()

    def _conninfo(self, database: str) -> str:
        return f"host={self.folder} user=postgres dbname={database}"

    def _wait(self) -> None:
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            assert self._process and self._process.poll() is None, (self.folder / "log").read_text()
            try:
                psycopg.connect(self._conninfo("postgres")).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError((self.folder / "log").read_text())


@contextmanager
def postgres() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="sf-pg-", dir="/tmp"))
    try:
        if user := _user():
            shutil.chown(folder, user)
        data = ("-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-N", "--no-instructions")
        subprocess.run((binary("initdb") or "", *data), check=True, capture_output=True, cwd=folder, user=user)
        server = Postgres(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> str | None:
    """It refuses to run as root."""
    return "postgres" if os.geteuid() == 0 else None
