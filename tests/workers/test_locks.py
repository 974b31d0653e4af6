"""What holds a plain process where no sandbox can be had: the kernel's locks and limits for each process."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance import bombs, scripts
from tests.conformance.harness import Bench
from tests.conformance.outside import CALLS, servers
from tests.conformance.table import is_locked
from tests.conftest import Require
from tests.system import nobody

from skillfleet_workers.runtimes import isolation, locks
from skillfleet_workers.runtimes.base import Language, Limits, RunRequest
from skillfleet_workers.runtimes.isolation import KernelLocks, kernel_locks
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.runtimes.starting import Locks
from skillfleet_workers.wire.execution import ScriptExecution

Run = Callable[..., ScriptExecution]
PYTHON = Path(sys.executable)
NODE_STARTS_WITH_MB = 256
WRITES = {
    "shell": '{ echo x > "$1"; } 2> /dev/null && echo written || echo refused; echo x > $HOME/mine && cat $HOME/mine',
    "javascript": """
const fs = require('fs')
try { fs.writeFileSync(process.argv[2], 'x'); console.log('written') } catch (_) { console.log('refused') }
fs.writeFileSync(process.env.HOME + '/mine', 'x'); console.log(fs.readFileSync(process.env.HOME + '/mine', 'utf8'))
""",
}
PROGRAMS: dict[Language, str] = {"shell": "bash", "javascript": "node"}


@pytest.fixture(autouse=True)
def locked(require: Require) -> None:
    require(is_locked(), f"a kernel with seccomp and Landlock of ABI 6: {kernel_locks()}")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    for name in ("skill", "scratch"):
        (tmp_path / name).mkdir()
    with closing(ProcessRuntime(tmp_path / "scratch")) as runtime:
        plain = RunRequest("demo", tmp_path / "skill", PYTHON, "", {"PATH": "/usr/bin:/bin"}, 30.0)
        yield lambda script, **more: runtime.run(replace(plain, script=script, **more))


def test_the_result_says_process_all_the_same(run: Run) -> None:
    done = run("print(1)")
    assert (done.stdout, done.isolation) == ("1\n", "process")


@pytest.mark.parametrize("language", PROGRAMS)
def test_other_programs_write_into_their_work_folder_only(
    run: Run, language: Language, tmp_path: Path, require: Require
) -> None:
    program = shutil.which(PROGRAMS[language])
    require(program is not None, f"{PROGRAMS[language]} is not installed")
    target = tmp_path / "another"
    done = run(WRITES[language], interpreter=Path(program or ""), language=language, arguments=(str(target),))
    assert (done.stdout, done.stderr) == ("refused\nx\n", "")
    assert not target.exists()


def test_work_folders_of_other_runs_are_closed_and_its_own_is_open(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "scratch" / "run-other"
    other.mkdir()
    (other / "file").write_text("x")
    script = f"""
import os
print(os.listdir(os.environ["HOME"]))
def another(): return os.listdir({str(other)!r})
def its_file(): return open({str(other / "file")!r})
def everybodys(): return os.listdir("/tmp")
for attempt in (another, its_file, everybodys):
    try:
        print(attempt())
    except PermissionError:
        print("closed")
"""
    assert run(script).stdout.splitlines()[1:] == ["closed"] * 3


def test_it_signals_neither_its_worker_nor_what_holds_it(run: Run) -> None:
    script = f"""
import os
for pid in ({os.getpid()}, os.getppid(), os.getpid()):
    try:
        os.kill(pid, 0)
        print("signalled")
    except PermissionError:
        print("refused")
"""
    assert run(script).stdout.split() == ["refused", "refused", "signalled"]


def test_nothing_of_its_worker_is_read_from_proc(run: Run) -> None:
    script = f"""
import os
for name in ("environ", "mem", "maps"):
    for pid in ({os.getpid()}, os.getppid(), "self"):
        try:
            open(f"/proc/{{pid}}/{{name}}", "rb").close()
            print(name, pid)
        except OSError:
            pass
print(os.access("/proc/{os.getpid()}/cwd/.", os.F_OK))
"""
    assert run(script).stdout.split() == ["environ", "self", "mem", "self", "maps", "self", "False"]


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_PACKET", "AF_NETLINK"])
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW"])
def test_without_network_no_socket_is_made_but_unix_ones(run: Run, family: str, kind: str) -> None:
    script = f"import socket as s\ns.socketpair()\ns.socket(s.AF_UNIX)\ns.socket(s.{family}, s.{kind})"
    assert run(script).stderr.splitlines()[-1] == "PermissionError: [Errno 13] Permission denied"


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_a_skill_that_declares_the_network_has_it(run: Run, kind: str, state_dir: Path) -> None:
    with servers(state_dir) as outside:
        arguments = (kind, outside.addresses[kind])
        assert run(CALLS, arguments=arguments).stdout == "refused\n"
        assert run(CALLS, arguments=arguments, network="host").stdout == "reached\n"


def test_the_heap_of_a_process_has_a_limit(run: Run) -> None:
    taken = "print(len(b'x' * (int(__import__('sys').argv[1]) << 20)))"
    limits = Limits(memory_mb=256)
    assert run(taken, limits=limits, arguments=("150",)).stdout == f"{150 << 20}\n"
    assert run(taken, limits=limits, arguments=("300",)).stderr.splitlines()[-1] == "MemoryError"


def test_node_lives_with_little_memory(run: Run, require: Require) -> None:
    require(shutil.which("node") is not None, "node is not installed")
    node = Path(shutil.which("node") or "")
    limits = Limits(memory_mb=NODE_STARTS_WITH_MB)
    done = run("console.log([1, 2].map(x => x * 2))", interpreter=node, language="javascript", limits=limits)
    assert (done.stdout, done.status) == ("[ 2, 4 ]\n", "succeeded")


def test_a_file_has_a_limit(run: Run) -> None:
    script = """
import os
with open(os.path.join(os.environ["HOME"], "big"), "wb", buffering=0) as file:
    for _ in range(3):
        print(file.write(bytes(1 << 20)), flush=True)
"""
    done = run(script, limits=Limits(disk_mb=2))
    assert done.stdout.split() == [str(1 << 20)] * 2
    assert "File too large" in done.stderr


def test_processor_time_has_a_limit(run: Run) -> None:
    done = run("while True: pass", limits=Limits(cpu_seconds=1))
    assert (done.status, done.signal) == ("killed", signal.SIGXCPU.name)


def test_limits_and_rights_are_none_that_a_script_can_raise(run: Run) -> None:
    script = """
import resource
for name in ("RLIMIT_DATA", "RLIMIT_FSIZE"):
    kind = getattr(resource, name)
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY,) * 2)
        print("raised")
    except ValueError:
        print("kept")
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(int(status["CapEff"], 16) & ~0b110, status["NoNewPrivs"], status["Seccomp"])
"""
    assert run(script).stdout.split() == ["kept", "kept", "0", "1", "2"]


def test_a_program_that_is_not_there_or_not_one_is_a_value(run: Run, tmp_path: Path) -> None:
    (tmp_path / "skill" / "bin").mkdir()
    text = tmp_path / "skill" / "bin" / "text"
    text.write_text("no program")
    for program, why in ((Path("/nowhere"), "No such file or directory"), (text, "Permission denied")):
        done = run("x", interpreter=program)
        assert (done.status, done.error) == ("failed", f"{why}: {program}")
    assert run("print(1)").stdout == "1\n"


@pytest.mark.parametrize("kernel", [KernelLocks(0, True), KernelLocks(7, False), KernelLocks(0, False)], ids=str)
def test_a_kernel_that_lacks_a_lock_does_without_it(kernel: KernelLocks, tmp_path: Path) -> None:
    asked = RunRequest("demo", tmp_path, PYTHON, "", {}, 1.0)
    found: Locks = locks.locks_for(asked, tmp_path, kernel)
    assert bool(found.readable) == bool(found.writable) == bool(kernel.landlock_abi)
    assert bool(found.filter) == kernel.seccomp
    assert found.limits


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user reads what anybody may")
def test_what_root_alone_may_read_of_the_systems_settings_is_closed(run: Run) -> None:
    private = [str(path) for path in (Path("/etc/shadow"), Path("/etc/ssl/private")) if path.exists()]
    script = "import os, sys\nfor path in sys.argv[1:]:\n    os.listdir(path) if os.path.isdir(path) else open(path)"
    for path in private:
        assert run(script, arguments=(path,)).stderr.splitlines()[-1].startswith("PermissionError")
    assert run("import ssl; print(len(ssl.create_default_context().get_ca_certs()) >= 0)").stdout == "True\n"


def test_what_the_kernel_has_is_found_by_trying_it() -> None:
    filtered = """
import errno, os, struct, sys
sys.path.insert(0, sys.argv[1])
import seccomp
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x50000 | errno.ENOSYS), (6, 0, 0, 0x7FFF0000)]
seccomp.install(b"".join(struct.pack("=HBBI", *step) for step in steps))
os.execv(sys.executable, [sys.executable, "-c", sys.argv[2]])
"""
    inside = Path(isolation.__file__).with_name("inside")
    told = "from skillfleet_workers.runtimes.isolation import kernel_locks; print(kernel_locks())"
    workers = str(Path(isolation.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", filtered, str(inside), told],
        env={**os.environ, "PYTHONPATH": workers}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(KernelLocks(landlock_abi=0, seccomp=True))


def test_a_run_beside_it_is_neither_signalled_nor_read(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with closing(ProcessRuntime(tmp_path / "scratch")) as runtime:
        bench = Bench("process", runtime, tmp_path)
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.SLEEPER, cancelled=cancelled)
        (other,) = bench.up()
        tries = f"""
import os
for attempt in ("os.kill({other}, 0)", "open('/proc/{other}/environ')", "os.listdir('/proc/{other}/cwd')"):
    try:
        print(eval(attempt))
    except PermissionError:
        print("refused")
"""
        assert bench.run(tries).stdout.split() == ["refused"] * 3
        cancelled.set()
        assert flight.result().status == "cancelled"


FORKS_AS_NOBODY = f"""
import os, sys
from pathlib import Path
from skillfleet_workers.runtimes.base import Limits, RunRequest
from skillfleet_workers.runtimes.process import ProcessRuntime
home = Path(os.environ["HOME"])
runtime = ProcessRuntime(home)
limits = Limits(pids=32)
asked = RunRequest("", home, Path(sys.executable), {bombs.FORKS!r}, {{}}, 30.0, ("200",), limits=limits)
done = runtime.run(asked)
print(os.geteuid(), done.stdout or done.stderr, done.leftover_killed)
runtime.close()
"""


def test_an_ordinary_user_has_only_so_many_processes(state_dir: Path, require: Require) -> None:
    require(Path("/proc/self/ns/pid").stat().st_ino == locks.ALL_PROCESSES, "a machine and not a container")
    before = [] if os.geteuid() else [sys.executable, "-m", nobody.__name__, str(state_dir)]
    environment = {**os.environ, "HOME": str(state_dir)}
    command = [*before, sys.executable, "-c", FORKS_AS_NOBODY]
    told = subprocess.run(command, cwd=nobody.ROOT, env=environment, capture_output=True, text=True, check=True)
    user, born, killed = map(int, told.stdout.split())
    assert user != 0
    assert 0 < born < 32 and killed == born
