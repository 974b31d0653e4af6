"""What every script may rely on still works when both locks hold."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.conftest import Require
from tests.workers.locked_in import said

from skillfleet_workers.runtimes.inside import landlock

READABLE = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev", "/nowhere"]
DEVICES = ["/dev/null", "/dev/zero", "/dev/shm", "/dev/ptmx", "/dev/pts"]
NOBODY = 65534
BY = [None, NOBODY] if os.geteuid() == 0 else [None]

# What scripts do, each on its own, in a folder that is theirs.
PIECES = {
    "subprocess": "import subprocess; assert subprocess.check_output(['sh', '-c', 'echo hi | cat']) == b'hi\\n'",
    "threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(abs, range(100))) == list(range(100))
""",
    "fork": """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
""",
    "spawn": """
import multiprocessing
with multiprocessing.get_context("spawn").Pool(1) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
""",
    "forkserver": """
import multiprocessing
with multiprocessing.get_context("forkserver").Pool(1) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
""",
    "shared memory": """
from multiprocessing import Lock, Manager, shared_memory
block = shared_memory.SharedMemory(create=True, size=4096)
block.buf[0] = 7
same = shared_memory.SharedMemory(block.name)
assert same.buf[0] == 7
same.close(); block.close(); block.unlink()
with Lock(), Manager() as manager:
    assert manager.list([1])[0] == 1
""",
    "asyncio": """
import asyncio
async def main():
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    return await asyncio.gather(child.communicate(b"hi"), asyncio.to_thread(abs, -1))
assert asyncio.run(main()) == [(b"hi", None), 1]
""",
    "files": """
import mmap, tempfile
with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
    os.mkfifo(folder + "/pipe")
    os.symlink("pipe", folder + "/link")
    file.write(bytes(4096)); file.flush(); mmap.mmap(file.fileno(), 4096).close()
    os.rename(folder + "/pipe", "pipe"); os.unlink("pipe")
    open(folder + "/f", "w").close(); os.chmod(folder + "/f", 0o600); os.truncate(folder + "/f", 9)
""",
    "sqlite3": """
import sqlite3
with sqlite3.connect("data.db") as db:
    db.execute("pragma journal_mode=wal"); db.execute("create table t (x)"); db.execute("insert into t values (1)")
    assert db.execute("select x from t").fetchall() == [(1,)]
""",
    "unix sockets": """
import socket
one, other = socket.socketpair()
one.send(b"x"); assert other.recv(1) == b"x"
for name in ("here.sock", "\\0abstract-%d" % os.getpid()):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(name); server.listen(); client.connect(name)
""",
    "loopback": """
import http.server, threading, urllib.request, socket
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert urllib.request.urlopen("http://localhost:%d/" % server.server_port).status == 200
server.shutdown(); server.server_close()
assert socket.getaddrinfo("localhost", 80) and socket.if_nameindex()
with socket.socket(type=socket.SOCK_DGRAM) as one:
    one.bind(("127.0.0.1", 0)); one.sendto(b"x", one.getsockname()); assert one.recv(1) == b"x"
""",
    "randomness and time": "import time, uuid; os.getrandom(8); os.urandom(8); uuid.uuid1(); time.localtime()",
    "ssl": "import ssl, hashlib; ssl.create_default_context(); hashlib.scrypt(b'a', salt=b'b', n=2, r=8, p=1)",
    "signals": """
import signal
os.kill(os.getpid(), 0); os.killpg(os.getpgid(0), 0)
pid = os.fork()
if not pid:
    signal.pause()
os.kill(pid, signal.SIGKILL); assert os.waitpid(pid, 0)[1] == signal.SIGKILL
signal.setitimer(signal.ITIMER_REAL, 60); signal.setitimer(signal.ITIMER_REAL, 0)
""",
    "terminals": """
import pty
pid, terminal = pty.fork()
if not pid:
    os.execvp("tty", ["tty"])
assert os.read(terminal, 99).startswith(b"/dev/pts/"); os.waitpid(pid, 0)
""",
    "limits": "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.nice(1)",
}
PROGRAMS = {
    "bash": "x=$(echo 1); cat <(echo $x) <<< 2; trap 'true' USR1; kill -USR1 $$; ulimit -c 0",
    "perl": "use POSIX; pipe(R, W); if (!fork) { print W 'x'; exit } wait; print sqrt(4)",
    "node": "new (require('worker_threads').Worker)('1', {eval: true}); "
    "require('net').createServer().listen(0, '127.0.0.1', function () { this.close() })",
}


@pytest.fixture(autouse=True)
def kernel_with_landlock(require: Require) -> None:
    require(landlock.abi() > 0, "a kernel with Landlock")


@cache
def interpreter(user: int | None, module: str = "os") -> str:
    """One that `user` can start and that has the module; empty where there is none."""
    for python in (sys.executable, "/usr/bin/python3", shutil.which("python3") or sys.executable):
        command = ["/usr/bin/env", python, "-c", f"import {module}"]
        if not subprocess.run(command, user=user, capture_output=True, cwd="/").returncode:
            return python
    return ""


def locked(here: Path, user: int | None) -> str:
    """Both locks, as `user` who owns `here`."""
    become = ""
    if user is not None:
        os.chown(here, user, user)
        become = f"os.setgroups([]); os.setgid({user}); os.setuid({user})"
    return f"""
{become}
prefixes = [sys.prefix, sys.base_prefix]
assert landlock.restrict([*{READABLE}, *prefixes], [*{DEVICES}, here], network=True)
seccomp.install(seccomp.program(os.uname().machine, network=False))
"""


@pytest.mark.parametrize("user", BY)
class TestBothLocks:
    @pytest.mark.parametrize("piece", PIECES)
    def test_what_scripts_do_still_works(
        self, piece: str, user: int | None, state_dir: Path, require: Require
    ) -> None:
        python = interpreter(user)
        require(bool(python), "a Python that another user may start")
        code = locked(state_dir, user) + PIECES[piece] + "\nprint('done')"
        assert said(code, state_dir, python=python) == ["done"]

    @pytest.mark.parametrize("name", PROGRAMS)
    def test_other_languages_still_work(self, name: str, user: int | None, state_dir: Path, require: Require) -> None:
        require(bool(python := interpreter(user)), "a Python that another user may start")
        if not (path := shutil.which(name)):
            pytest.skip(f"no {name} on PATH")
        command = [path, "-c" if name == "bash" else "-e", PROGRAMS[name]]
        code = f"import subprocess; print(subprocess.run({command}, stdout=subprocess.PIPE).returncode)"
        assert said(locked(state_dir, user) + code, state_dir, python=python) == ["0"]

    def test_numpy_still_works(self, user: int | None, state_dir: Path) -> None:
        if not (python := interpreter(user, "numpy")):
            pytest.skip("no Python with numpy that this user may start")
        code = "import numpy; print(numpy.linalg.inv(numpy.eye(500)).sum())"
        assert said(locked(state_dir, user) + code, state_dir, python=python) == ["500.0"]
