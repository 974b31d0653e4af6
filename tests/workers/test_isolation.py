"""What a host can hold a script with, as probed on real hosts that lack something."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Require

from skillfleet_workers.runtimes.isolation import HostIsolation, at_least, probe, sandbox_user
from skillfleet_workers.wire.execution import Isolation

WORKERS = Path(__file__).parents[2] / "workers"
PROBE = """
import dataclasses, json
from skillfleet_workers.runtimes.isolation import probe
print(json.dumps(dataclasses.asdict(probe())))
"""
FINDINGS = """
import json
from skillfleet_workers.cli import host_findings
print(json.dumps([finding.model_dump() for finding in host_findings() if finding.area == "isolation"]))
"""
NO_MORE_NAMESPACES = ["unshare", "--user", "--map-root-user", sys.executable, "-c"]
NO_MORE = """
import os, sys
with open("/proc/sys/user/max_user_namespaces", "w") as limit:
    limit.write("0")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
FILTERED = """
import os, sys
sys.path.insert(0, sys.argv[1])
import seccomp
seccomp.install(seccomp.program(os.uname().machine, network=True))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
INSIDE = WORKERS / "skillfleet_workers" / "runtimes" / "inside"


@pytest.fixture(scope="module")
def whole(require: Require) -> HostIsolation:
    """What this host holds, which is all."""
    found = probe()
    require(found.strongest == "sandbox", f"a host with all of it: {found}")
    return found


def probed(*around: str, **variables: str) -> HostIsolation:
    return HostIsolation(**run(PROBE, *around, **variables))


def run(program: str, *around: str, **variables: str) -> Any:
    """What the program prints on a host that `around` and `variables` make."""
    command = [*around, *([] if around else [sys.executable]), "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(WORKERS), **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_namespaces() -> list[str]:
    return [*NO_MORE_NAMESPACES, NO_MORE]


def filtered() -> list[str]:
    return [sys.executable, "-c", FILTERED, str(INSIDE)]


def test_isolations_are_in_the_order_of_their_strength() -> None:
    order: tuple[Isolation, ...] = ("none", "process", "sandbox", "container", "gvisor")
    for place, isolation in enumerate(order):
        assert [at_least(isolation, other) for other in order] == [place >= other for other in range(len(order))]


def test_a_host_with_everything_holds_a_sandbox(whole: HostIsolation) -> None:
    assert whole.bubblewrap == whole.user_namespaces == ""
    assert whole.seccomp


def test_a_host_without_bubblewrap_holds_processes_only(whole: HostIsolation, tmp_path: Path) -> None:
    found = probed(PATH=str(tmp_path))
    assert found.bubblewrap == "bwrap is not on PATH"
    assert found.user_namespaces == ""
    assert found.strongest == "process"


def test_a_bubblewrap_that_fails_holds_processes_only_and_its_words_are_kept(
    whole: HostIsolation, state_dir: Path
) -> None:
    found = probed(PATH=bubblewrap_of(state_dir, "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"))
    assert found.bubblewrap == "bwrap: setting up uid map: Permission denied"
    assert found.strongest == "process"


def bubblewrap_of(folder: Path, line: str) -> str:
    """A PATH on which bwrap is this line of shell."""
    folder.chmod(0o755)  # it is started as nobody in particular
    bwrap = folder / "bwrap"
    bwrap.write_text(f"#!/bin/sh\n{line}\n")
    bwrap.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_host_whose_user_namespaces_are_used_up_holds_processes_only(whole: HostIsolation) -> None:
    found = probed(*without_namespaces())
    assert found.user_namespaces == "cannot make namespaces: No space left on device"
    assert found.bubblewrap
    assert found.strongest == "process"
    assert found.seccomp == whole.seccomp
    assert found.landlock_abi == whole.landlock_abi


def test_a_host_whose_seccomp_filter_denies_namespaces_holds_processes_only(whole: HostIsolation) -> None:
    found = probed(*filtered())
    assert found.user_namespaces == "cannot make namespaces: Operation not permitted"
    assert found.bubblewrap
    assert found.strongest == "process"


def test_a_bubblewrap_in_which_runs_get_no_namespaces_of_their_own_is_no_sandbox(
    whole: HostIsolation, state_dir: Path
) -> None:
    strict = f'exec {shutil.which("bwrap")} --unshare-user --disable-userns "$@"'
    found = probed(PATH=bubblewrap_of(state_dir, strict))
    assert found.bubblewrap == "inside it, a run cannot make namespaces: No space left on device"
    assert found.strongest == "process"


def test_a_host_whose_control_groups_are_read_only_says_so(whole: HostIsolation) -> None:
    found = probed("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", sys.executable)
    assert found.cgroups.startswith("/sys/fs/cgroup/")
    assert found.cgroups.endswith(": Read-only file system")


def test_a_host_without_control_groups_says_so(whole: HostIsolation, require: Require) -> None:
    require(os.geteuid() == 0, "root, to unmount them")
    program = "import os, subprocess, sys; subprocess.run(['umount', '-R', '/sys/fs/cgroup'], check=True)"
    restart = "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    found = probed("unshare", "--mount", sys.executable, "-c", f"{program}; {restart}")
    assert found.cgroups == "no memory and no pids control group is mounted here"


def test_root_starts_sandboxes_as_nobody_but_where_it_has_one_user_only(require: Require) -> None:
    require(os.geteuid() == 0, "root")
    assert sandbox_user() == 64_000
    alone = "from skillfleet_workers.runtimes.isolation import sandbox_user; print(int(sandbox_user() is None))"
    assert run(alone, "unshare", "--user", "--map-root-user", sys.executable) == 1


@dataclass(frozen=True)
class Line:
    ok: bool | None
    detail: str
    fix: str


def doctor(*around: str, demanded: str = "process", **variables: str) -> dict[str, Line]:
    """What doctor says of the isolation, without a Docker engine; the answer to the demand under `demand`."""
    hidden = {"DOCKER_HOST": "unix:///nonexistent", "SKILLFLEET_MIN_ISOLATION": demanded}
    lines = run(FINDINGS, *around, **hidden, **variables)
    found = {line["what"]: Line(line["ok"], line["detail"], line["fix"]) for line in lines}
    return {"demand": found.pop(f"{demanded} demanded"), **found}


def test_doctor_says_that_a_host_holds_what_is_demanded(whole: HostIsolation) -> None:
    said = doctor(demanded="sandbox")
    assert said["demand"].ok
    assert "at most sandbox here" in said["demand"].detail
    assert said["bubblewrap"] == Line(True, "works, with namespaces for every run inside", "")


def test_doctor_fails_where_a_sandbox_is_demanded_and_namespaces_are_blocked(whole: HostIsolation) -> None:
    said = doctor(*without_namespaces(), demanded="sandbox")
    assert said["demand"].ok is False
    assert "at most process here" in said["demand"].detail
    assert "sysctl -w user.max_user_namespaces" in said["demand"].fix
    assert "SKILLFLEET_MIN_ISOLATION=process" in said["demand"].fix
    assert said["user namespaces"].ok is None
    assert "No space left" in said["user namespaces"].detail


def test_doctor_names_a_seccomp_filter_that_blocks_namespaces(whole: HostIsolation) -> None:
    said = doctor(*filtered(), demanded="sandbox")
    assert said["demand"].ok is False
    assert "seccomp" in said["user namespaces"].fix


def test_doctor_is_content_with_processes_where_no_more_is_demanded(whole: HostIsolation, tmp_path: Path) -> None:
    said = doctor(PATH=str(tmp_path))
    assert said["demand"].ok
    assert "at most process here" in said["demand"].detail
    assert said["bubblewrap"].ok is None
    assert said["bubblewrap"].detail == "bwrap is not on PATH"
    assert said["process"].detail.startswith("Landlock, seccomp, limits for each process; ")
    assert said["process"].detail.endswith("; no namespaces because bwrap is not on PATH")
    assert "install bubblewrap" in said["bubblewrap"].fix


def test_doctor_fails_where_more_is_demanded_and_says_what_control_groups_lack(whole: HostIsolation) -> None:
    said = doctor("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", sys.executable, demanded="gvisor")
    assert said["demand"].ok is False
    assert "Docker" in said["demand"].fix
    assert "runsc" in said["demand"].fix
    assert said["control groups"].ok is None
    assert "per process only" in said["control groups"].detail
    assert said["control groups"].fix


def test_doctor_says_whether_the_limit_of_cores_holds(whole: HostIsolation, tmp_path: Path, require: Require) -> None:
    require(whole.cores == "", f"control groups that limit cores: {whole.cores}")
    assert doctor(SKILLFLEET_SCRIPT_CPUS="1.5")["1.5 cores a script"] == Line(True, "held", "")
    without_groups = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", sys.executable]
    for around, variables in ((without_groups, {}), ([], {"PATH": str(tmp_path)})):
        said = doctor(*around, SKILLFLEET_SCRIPT_CPUS="1.5", **variables)["1.5 cores a script"]
        assert said.ok is None and said.fix
        assert said.detail.startswith("not held here: ")


def test_doctor_says_nothing_of_cores_where_no_limit_is_set(whole: HostIsolation) -> None:
    assert not [what for what in doctor() if "cores" in what]
