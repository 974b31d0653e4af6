"""Children lock themselves in and try."""

import shutil
import sys
from pathlib import Path

import pytest
from tests.conftest import Require
from tests.workers.locked_in import said

from skillfleet_workers.runtimes.inside import landlock

SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev", "/nowhere", sys.prefix, sys.base_prefix]


@pytest.fixture(autouse=True)
def kernel_with_landlock(require: Require) -> None:
    require(landlock.abi() > 0, "a kernel with Landlock")


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder with a file, a program and a folder in it."""
    (tmp_path / "file").write_text("secret")
    (tmp_path / "sub").mkdir()
    shutil.copy("/bin/true", tmp_path / "program")
    return tmp_path


READS = """
import subprocess
print(attempt(open, there + "/file"), attempt(os.listdir, there), attempt(subprocess.run, [there + "/program"]))
"""
WRITES = """
print(attempt(write, there + "/file", "r+"), attempt(write, there + "/new"), attempt(os.unlink, there + "/file"),
      attempt(os.mkdir, there + "/d"), attempt(os.rmdir, there + "/sub"), attempt(os.symlink, "x", there + "/l"),
      attempt(os.mkfifo, there + "/p"), attempt(os.rename, here + "/mine", there + "/mine"))
"""


class TestFiles:
    def test_what_is_not_named_is_closed_to_root_too(self, state_dir: Path, there: Path) -> None:
        code = f"write(here + '/mine'); landlock.restrict({SYSTEM}, [here], network=True)" + READS + WRITES
        told = said(code, state_dir, there)
        assert told[:-1] == ["EACCES"] * 10
        assert told[-1] in ("EACCES", "EXDEV")
        assert (there / "file").read_text() == "secret"

    def test_readable_is_read_and_executed_only(self, state_dir: Path, there: Path) -> None:
        code = f"write(here + '/mine'); landlock.restrict([*{SYSTEM}, there], [here], network=True)" + READS + WRITES
        told = said(code, state_dir, there)
        assert told[:3] == ["ok"] * 3
        assert set(told[3:]) <= {"EACCES", "EXDEV"}

    def test_writable_is_read_and_changed(self, state_dir: Path, there: Path, require: Require) -> None:
        require(landlock.abi() >= 2, "Landlock that lets files move between folders (ABI 2)")
        code = f"write(here + '/mine'); landlock.restrict({SYSTEM}, [here, there], network=True)" + READS + WRITES
        assert said(code, state_dir, there) == ["ok"] * 11

    def test_nobody_makes_device_nodes(self, state_dir: Path) -> None:
        code = """
landlock.restrict([], [here], network=True)
print(*[attempt(os.mknod, here + "/disk", kind | 0o600, os.makedev(1, 3)) for kind in (0o060000, 0o020000)])
"""
        assert set(said(code, state_dir)) <= {"EACCES", "EPERM"}

    def test_a_writable_file_opens_nothing_beside_it(self, state_dir: Path, there: Path) -> None:
        code = f"landlock.restrict({SYSTEM}, [there + '/file', '/nowhere', there + '/file/no'], network=True)"
        tries = (
            'print(attempt(write, there + "/file"), attempt(write, there + "/program"), attempt(os.listdir, there))'
        )
        assert said(f"{code}\n{tries}", state_dir, there) == ["ok", "EACCES", "EACCES"]

    def test_devices_take_no_orders_where_they_are_only_read(self, state_dir: Path, require: Require) -> None:
        require(landlock.abi() >= 5, "Landlock that knows ioctl (ABI 5)")
        code = """
import fcntl, termios
landlock.restrict(["/dev/zero"], ["/dev/null"], network=True)
print(*[attempt(fcntl.ioctl, open(name), termios.TCGETS, bytes(64)) for name in ("/dev/zero", "/dev/null")])
"""
        assert said(code, state_dir) == ["EACCES", "ENOTTY"]

    @pytest.mark.parametrize("newest", range(1, landlock.NEWEST_ABI + 1))
    def test_the_rights_of_every_abi_hold(self, newest: int, state_dir: Path, there: Path, require: Require) -> None:
        require(landlock.abi() >= newest, f"Landlock of ABI {newest}")
        code = f"""
import fcntl, termios
landlock.NEWEST_ABI = {newest}
print(landlock.restrict([*{SYSTEM}, there], [here], network=False))
print(attempt(write, here + "/new"), attempt(write, there + "/file", "r+"), attempt(os.truncate, there + "/file", 1))
print(attempt(fcntl.ioctl, open("/dev/zero"), termios.TCGETS, bytes(64)))
"""
        truncated = "ok" if newest < 3 else "EACCES"
        ordered = "ENOTTY" if newest < 5 else "EACCES"
        assert said(code, state_dir, there) == [str(newest), "ok", "EACCES", truncated, ordered]


class TestBeyondFiles:
    @pytest.mark.parametrize(("network", "outcome"), [(False, "EACCES"), (True, "ok")])
    def test_tcp(self, network: bool, outcome: str, state_dir: Path, require: Require) -> None:
        require(landlock.abi() >= 4, "Landlock that knows TCP (ABI 4)")
        code = f"""
server = socket.create_server(("127.0.0.1", 0))
landlock.restrict([], [], network={network})
print(attempt(socket.socket().bind, ("127.0.0.1", 0)), attempt(socket.socket().connect, server.getsockname()))
"""
        assert said(code, state_dir) == [outcome] * 2

    def test_signals_and_abstract_sockets_end_at_the_domain(self, state_dir: Path, require: Require) -> None:
        require(landlock.abi() >= 6, "Landlock with scopes (ABI 6)")
        code = """
import signal
name = "\\0skillfleet-%d" % os.getpid()
server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
print(attempt(os.kill, os.getppid(), 0), attempt(socket.socket(socket.AF_UNIX).connect, name))
landlock.restrict([], [], network=True)
print(attempt(os.kill, os.getppid(), 0), attempt(socket.socket(socket.AF_UNIX).connect, name))
pid = os.fork()
if not pid:
    signal.pause()
print(attempt(os.kill, pid, signal.SIGKILL), attempt(os.kill, os.getpid(), 0))
"""
        assert said(code, state_dir) == ["ok", "ok", "EPERM", "EPERM", "ok", "ok"]


class TestRuleset:
    def test_one_made_ahead_locks_every_fork_and_not_its_maker(self, state_dir: Path, there: Path) -> None:
        code = """
ruleset = landlock.prepare([], [here], network=True)
for _ in range(2):
    if not os.fork():
        landlock.enforce(ruleset)
        print(attempt(open, there + "/file"), attempt(write, here + "/new"), flush=True)
        os._exit(0)
    os.wait()
print(attempt(open, there + "/file"), os.get_inheritable(ruleset))
"""
        assert said(code, state_dir, there) == ["EACCES", "ok"] * 2 + ["ok", "False"]

    def test_a_kernel_without_landlock_restricts_nothing_and_says_so(self, state_dir: Path) -> None:
        code = """
import struct
load, equal, answer = (0x20, 0, 0, 0), (0x15, 0, 1, 444), 0x06
steps = [load, equal, (answer, 0, 0, 0x00050000 | errno.ENOSYS), (answer, 0, 0, 0x7FFF0000)]
seccomp.install(b"".join(struct.pack("=HBBI", *step) for step in steps))
print(landlock.abi(), landlock.restrict([], [], network=False), attempt(write, here + "/new"))
print(attempt(lambda: landlock.prepare([], [], network=False)))
"""
        assert said(code, state_dir) == ["0", "0", "ok", "ENOSYS"]

    def test_what_is_no_ruleset_is_an_error_and_a_path_that_fails_leaves_no_descriptor(self, state_dir: Path) -> None:
        code = """
os.symlink("loop", here + "/loop")
before = len(os.listdir("/proc/self/fd"))
print(attempt(lambda: landlock.prepare([here + "/loop"], [], network=True)), attempt(landlock.enforce, 99))
landlock.restrict(["/proc"], [here], network=True)
print(len(os.listdir("/proc/self/fd")) - before)
"""
        assert said(code, state_dir) == ["ELOOP", "EBADF", "0"]

    def test_a_path_that_its_user_cannot_reach_is_left_out(self, state_dir: Path) -> None:
        code = """
os.makedirs(here + "/closed/in")
os.chmod(here + "/closed", 0)
if os.geteuid() == 0:
    os.setuid(65534)
print(attempt(os.stat, here + "/closed/in"), landlock.restrict([here + "/closed/in"], [], network=True) > 0)
os.chmod(here + "/closed", 0o700) if os.access(here, os.W_OK) else None
"""
        assert said(code, state_dir) == ["EACCES", "True"]
