"""Control groups: what they limit, count, kill and leave behind, with real processes in them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.conftest import Require
from tests.workers.environment_checks import lives

from skillfleet_workers.runtimes.cgroup import Cgroup
from skillfleet_workers.runtimes.cgroup_places import UNIFIED
from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.settings import LEAST_CPUS

MEMORY_MB = 256
PIDS = 64
JOIN = """
import os, signal, sys, time
for file in sys.argv[1:]:
    with open(file, "w") as joined:
        joined.write("0")
"""
HOG = "held = bytearray(400 << 20)\n"
FORKED_HOG = """
child = os.fork()
if not child:
    held = bytearray(400 << 20)
    os._exit(0)
assert os.waitpid(child, 0)[1] == signal.SIGKILL
"""
FOUR_CHILDREN = """
for _ in range(4):
    if not os.fork():
        held = bytearray(150 << 20)
        signal.pause()
os.wait()
"""
FORKS = """
made = 0
for _ in range(300):
    try:
        child = os.fork()
    except BlockingIOError:
        break
    if not child:
        signal.pause()
    made += 1
print(made, flush=True)
signal.pause()
"""
DAEMON = """
if not os.fork():
    os.setsid()
    if not os.fork():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(os.getpid(), flush=True)
        signal.pause()
    os._exit(0)
os.wait()
"""
RABBIT = """
while not os.fork():
    os.setsid()
"""
HOLD = """
import json, os, signal
from skillfleet_workers.runtimes.cgroup_places import UNIFIED
from skillfleet_workers.runtimes.cgroups import find_cgroups
group = find_cgroups().create("held", memory_mb=64, pids=8)
print(json.dumps([str(folder) for folder in group.folders.values()]), flush=True)
signal.pause()
"""
KILL_STRANGERS = """
import os, sys
from pathlib import Path
from skillfleet_workers.runtimes.cgroup import Cgroup
folders = dict(enumerate(map(Path, sys.argv[1:])))
Cgroup({"pids": folders[0], **folders}).kill()
print("lives")
"""


@pytest.fixture(scope="module")
def cgroups(require: Require) -> Cgroups:
    found = find_cgroups()
    require(not isinstance(found, str), f"control groups: {found}")
    assert isinstance(found, Cgroups)
    return found


@pytest.fixture
def group(cgroups: Cgroups) -> Iterator[Cgroup]:
    made = cgroups.create("test", memory_mb=MEMORY_MB, pids=PIDS)
    yield made
    made.remove()


def start(group: Cgroup, program: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-I", "-S", "-c", JOIN + program, *group.attach_files]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(group: Cgroup, program: str) -> int:
    with start(group, program) as process:
        return process.wait(30)


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return held


def is_there(group: Cgroup) -> list[Path]:
    return [folder for folder in group.folders.values() if folder.exists()]


def test_a_process_beyond_the_memory_limit_is_killed_and_counted(group: Cgroup) -> None:
    assert group.oom_kills() == 0
    assert finish(group, HOG) == -9
    assert group.oom_kills() == 1


def test_a_process_within_the_memory_limit_lives_and_its_peak_is_seen(group: Cgroup) -> None:
    assert finish(group, "held = bytearray(100 << 20)\n") == 0
    assert group.oom_kills() == 0
    peak = group.peak_bytes()
    assert peak is None or 100 << 20 < peak <= MEMORY_MB << 20


def test_a_child_killed_for_memory_is_counted_though_the_main_process_exits_0(group: Cgroup) -> None:
    assert finish(group, FORKED_HOG) == 0
    assert group.oom_kills() == 1


def test_all_processes_share_one_memory_limit(group: Cgroup) -> None:
    with start(group, FOUR_CHILDREN):
        assert eventually(lambda: group.oom_kills() > 0)
        group.kill()


def test_a_raised_memory_limit_holds_at_once(group: Cgroup) -> None:
    group.limit_memory(600 << 20)
    assert finish(group, HOG) == 0
    group.limit_memory(MEMORY_MB << 20)
    assert finish(group, HOG) == -9


def test_memory_in_use_is_seen(group: Cgroup) -> None:
    with start(group, "held = bytearray(100 << 20)\nprint('up', flush=True)\nsignal.pause()\n") as process:
        assert said(process) == "up"
        assert 100 << 20 < group.memory_bytes() < MEMORY_MB << 20
        group.kill()


def test_forks_beyond_the_limit_are_refused_and_counted(group: Cgroup) -> None:
    with start(group, FORKS) as process:
        assert int(said(process)) == PIDS - 1
        assert group.pids_max_hits() > 0
        group.kill()


def test_processor_time_is_limited(cgroups: Cgroups, require: Require) -> None:
    require(cgroups.limits_cpu, "no cpu controller")
    group = cgroups.create("slow", memory_mb=64, pids=8, cpus=LEAST_CPUS)
    try:
        assert finish(group, "while time.process_time() < 0.05: pass\n") == 0
        assert group.throttled() > 0
        group.kill()
        assert group.cores() is None  # or what it kills would have to wait for its share, to die
    finally:
        group.remove()


def test_killing_leaves_no_daemon_that_left_its_session(group: Cgroup) -> None:
    with start(group, DAEMON) as process:
        daemon = int(said(process))
    assert process.returncode == 0
    assert lives(daemon)
    group.kill()
    assert not lives(daemon)


def test_killing_one_by_one_leaves_no_process_that_keeps_forking(group: Cgroup) -> None:
    older_kernel = Cgroup({word: folder for word, folder in group.folders.items() if word != UNIFIED})
    assert finish(group, RABBIT) == 0
    assert Path(group.attach_files[0]).read_text()
    older_kernel.kill()
    assert not any(Path(file).read_text() for file in group.attach_files)


def test_processes_of_a_stranger_namespace_do_not_make_a_worker_kill_itself(group: Cgroup, require: Require) -> None:
    require(os.geteuid() == 0, "root, to make a PID namespace")
    with start(group, "print('up', flush=True)\nsignal.pause()\n") as stranger:
        assert said(stranger) == "up"
        apart = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", KILL_STRANGERS]
        folders = map(str, group.folders.values())
        done = subprocess.run([*apart, *folders], capture_output=True, text=True, timeout=60, start_new_session=True)
        survived = lives(stranger.pid)
        group.kill()
    assert done.stdout == "lives\n", done.stderr
    assert survived


def test_killing_an_empty_group_is_harmless(group: Cgroup) -> None:
    group.kill()
    group.kill()


def test_removing_kills_and_leaves_no_group(cgroups: Cgroups) -> None:
    group = cgroups.create("full", memory_mb=MEMORY_MB, pids=PIDS)
    with start(group, DAEMON) as process:
        daemon = int(said(process))
    assert lives(daemon)
    assert is_there(group)
    group.remove()
    assert not lives(daemon)
    assert not is_there(group)
    group.remove()


def test_a_group_that_exists_is_not_made_again_nor_lost(group: Cgroup, cgroups: Cgroups) -> None:
    with pytest.raises(FileExistsError):
        cgroups.create("test", memory_mb=64, pids=8)
    assert is_there(group)


def test_sweeping_removes_the_groups_of_a_dead_worker_only(group: Cgroup, cgroups: Cgroups) -> None:
    with holder() as living, holder() as dying:
        kept, orphaned = (Cgroup(dict(folders_of(one))) for one in (living, dying))
        dying.kill()
        dying.wait()
        assert is_there(orphaned)
        cgroups.sweep()
        assert is_there(group)
        assert is_there(kept)
        assert not is_there(orphaned)
        living.kill()
        living.wait()
        cgroups.sweep()
        assert not is_there(kept)


def holder() -> "subprocess.Popen[str]":
    """A worker that holds a group."""
    return subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)


def folders_of(process: "subprocess.Popen[str]") -> Iterator[tuple[str, Path]]:
    for number, folder in enumerate(json.loads(said(process))):
        yield str(number), Path(folder)


def test_a_pid_that_lives_again_does_not_save_a_group(group: Cgroup, cgroups: Cgroups) -> None:
    before_us = cgroups.owner._replace(started=cgroups.owner.started - 1)
    earlier = Cgroups(cgroups.folders, before_us).create("old", memory_mb=64, pids=8)
    elsewhere = Cgroups(cgroups.folders, before_us._replace(namespace=1)).create("other", memory_mb=64, pids=8)
    try:
        cgroups.sweep()
        assert not is_there(earlier)
        assert is_there(elsewhere)
        assert is_there(group)
    finally:
        elsewhere.remove()


def test_workers_that_sweep_at_once_do_not_disturb_each_other(cgroups: Cgroups) -> None:
    dead = Cgroups(cgroups.folders, cgroups.owner._replace(started=cgroups.owner.started - 1))
    orphans = [dead.create(f"old{number}", memory_mb=64, pids=8) for number in range(30)]
    with ThreadPoolExecutor(4) as pool:
        for sweep in [pool.submit(cgroups.sweep) for _ in range(4)]:
            sweep.result()
    assert not any(map(is_there, orphans))
