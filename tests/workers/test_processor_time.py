"""Processor time: how much of it at once, and in all, a sandboxed script gets."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Require

from skillfleet_workers.runtimes.base import Limits, RunRequest
from skillfleet_workers.runtimes.cgroup import Cgroup
from skillfleet_workers.runtimes.cgroup_places import UNIFIED
from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.runtimes.warm.interpreter import WarmInterpreter
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime

TWO_BURN = "import os, time\nos.fork()\nwhile time.process_time() < 0.1: pass\n"
CORES = 0.1
"""Less than they get by themselves, however busy the machine is."""

TWO_BURN_ON = "import os\nos.fork()\nwhile True: pass\n"
CHILD_BURNS_ON = "import os\nif not os.fork():\n    while True: pass\nprint(os.wait()[1])\n"


@pytest.fixture
def runtime(warm_runtime: WarmRuntime, require: Require) -> WarmRuntime:
    cgroups = find_cgroups()
    require(isinstance(cgroups, Cgroups) and cgroups.limits_cpu, f"control groups that limit cores: {cgroups}")
    return warm_runtime


@pytest.fixture
def ask(ask: RunRequest) -> RunRequest:
    return replace(ask, script="", limits=Limits(cpus=CORES))


def group_of(runtime: WarmRuntime) -> Cgroup:
    (one,) = runtime.pool.interpreters()
    assert isinstance(one, WarmInterpreter) and one.cgroup is not None
    return one.cgroup


@pytest.mark.parametrize(
    ("unified", "limited", "lifted"),
    [
        (True, {"cpu.max": "150000 100000"}, {"cpu.max": "max 100000"}),
        (
            False,
            {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"},
            {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "-1"},
        ),
    ],
    ids=["version 2", "version 1"],
)
def test_each_version_of_control_groups_is_told_in_its_own_words(
    tmp_path: Path, unified: bool, limited: dict[str, str], lifted: dict[str, str]
) -> None:
    group = Cgroup({"cpu": tmp_path} | ({UNIFIED: tmp_path} if unified else {}))
    for cpus, words in ((1.5, limited), (None, lifted)):
        for name in words:
            (tmp_path / name).write_text("")
        group.limit_cpu(cpus)
        assert {name: (tmp_path / name).read_text() for name in words} == words
        assert group.cores() == cpus


@pytest.mark.parametrize("fresh", [False, True], ids=["a fork", "a program"])
def test_the_processes_of_a_run_share_its_cores(runtime: WarmRuntime, ask: RunRequest, fresh: bool) -> None:
    assert runtime.run(replace(ask, fresh_interpreter=fresh)).success
    started = group_of(runtime).throttled()
    assert runtime.run(replace(ask, script=TWO_BURN, fresh_interpreter=fresh)).success
    assert group_of(runtime).throttled() > started


def test_a_run_without_a_limit_of_cores_is_in_no_group_that_has_one(runtime: WarmRuntime, ask: RunRequest) -> None:
    assert runtime.run(replace(ask, limits=Limits())).success
    assert "cpu" not in group_of(runtime).folders


def test_what_has_used_up_its_cores_need_not_wait_for_more_to_be_killed(
    runtime: WarmRuntime, ask: RunRequest
) -> None:
    assert runtime.run(ask).success
    started = group_of(runtime).throttled()
    assert runtime.run(replace(ask, script=TWO_BURN_ON, timeout_s=0.4)).status == "timed_out"
    killed = group_of(runtime)
    assert killed.throttled() > started
    assert killed.cores() is None


def test_a_run_after_one_that_was_killed_has_its_cores_limited_again(runtime: WarmRuntime, ask: RunRequest) -> None:
    assert runtime.run(replace(ask, script=TWO_BURN_ON, timeout_s=0.4)).status == "timed_out"
    group = group_of(runtime)
    assert runtime.run(ask).success
    assert group_of(runtime) is group
    assert group.cores() == CORES


def test_a_child_that_burns_more_than_the_seconds_is_killed(runtime: WarmRuntime, ask: RunRequest) -> None:
    done = runtime.run(replace(ask, script=CHILD_BURNS_ON, limits=Limits(cpu_seconds=1)))
    assert (done.status, done.stdout) == ("succeeded", f"{signal.SIGXCPU:d}\n")
