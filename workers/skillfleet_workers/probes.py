"""What a machine offers a worker, found by trying it, not by version."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import uv
from docker.errors import DockerException
from requests.exceptions import RequestException

from .python import base_interpreter
from .runtimes import isolation_advice as advice
from .runtimes.container.engine import gvisor_among
from .runtimes.isolation import HostIsolation, at_least, probe
from .settings import WorkerSettings
from .skills.catalog import SkillCatalog
from .skills.roots import roots_of
from .wire.contract import WireModel
from .wire.execution import Isolation

PROBE_TIMEOUT_S = 10
INTERPRETERS = {"bash": "shell", "node": "JavaScript", "ruby": "Ruby", "perl": "Perl"}
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
MEANS: dict[Isolation, str] = {
    "none": "nothing holds a script",
    "process": "a supervisor that kills the whole tree and the kernel's locks, against accidents, not hostile code",
    "sandbox": "namespaces of its own for every run, against hostile code, on a shared kernel",
    "container": "a hardened container for every environment, on a shared kernel",
    "gvisor": "a kernel of its own in user space",
}
DOCKER_FIX = "install and start a Docker engine, and let this user reach it"
GVISOR_FIX = "install runsc (gvisor.dev) and add it to the runtimes of Docker"


class Finding(WireModel):
    """`ok` is None where it is missing but not needed. `fix` says how to get it."""

    area: str
    what: str
    ok: bool | None
    detail: str
    fix: str = ""


def probe_host(settings: WorkerSettings) -> list[Finding]:
    return [*_skills(settings), *_interpreters(), *_isolation(settings)]


def _skills(settings: WorkerSettings) -> Iterator[Finding]:
    catalog = SkillCatalog(roots_of(settings))
    skills = catalog.list(None)
    yield Finding(
        area="skills",
        what=str(settings.skills_folder),
        ok=True if skills else None,
        detail=", ".join(skill.name for skill in skills) or "empty",
        fix="" if skills else "put a folder with a SKILL.md into it (docs/writing-skills.md)",
    )
    for folder, reason in sorted(catalog.skipped.items()):
        yield Finding(area="skills", what=folder, ok=False, detail=f"skipped: {reason}", fix="mend its SKILL.md")
    for skill in skills:
        for problem in skill.problems:
            yield Finding(area="skills", what=skill.name, ok=None, detail=str(problem), fix=problem.fix)
    for problem in (*catalog.problems, *(each.problem for each in catalog.shadowed)):
        yield Finding(area="skills", what=problem.code, ok=None, detail=problem.message, fix=problem.fix)


def _interpreters() -> Iterator[Finding]:
    python = base_interpreter()
    yield Finding(area="interpreters", what="python", ok=python.exists(), detail=str(python))
    yield Finding(area="interpreters", what="uv", ok=True, detail=uv.find_uv_bin())
    for name, language in INTERPRETERS.items():
        path = shutil.which(name)
        yield Finding(
            area="interpreters",
            what=name,
            ok=True if path else None,
            detail=path or "not found",
            fix="" if path else f"install {name}, if your skills have {language} scripts",
        )


def _isolation(settings: WorkerSettings) -> Iterator[Finding]:
    minimum, host, held = settings.min_isolation, this_host(), probe()
    docker_engine, gvisor, no_docker = _docker()
    strongest = "gvisor" if gvisor else "container" if docker_engine else held.strongest
    fixes = {
        "sandbox": advice.for_bubblewrap(host, held.bubblewrap),
        "container": DOCKER_FIX,
        "gvisor": f"{DOCKER_FIX}; {GVISOR_FIX}" if no_docker else GVISOR_FIX,
    }
    yield Finding(
        area="isolation",
        what=f"{minimum} demanded",
        ok=at_least(strongest, minimum),
        detail=f"at most {strongest} here: {MEANS[strongest]}",
        fix="" if at_least(strongest, minimum) else f"{fixes[minimum]}; or set SKILLFLEET_MIN_ISOLATION={strongest}",
    )
    if settings.script_cpus:
        fix = fixes["sandbox"] if held.bubblewrap else advice.for_cgroups(host)
        yield _cores(settings.script_cpus, held, fix, engine=bool(docker_engine))
    yield _plain_processes(host, held)
    groups = held.cgroups and f"memory is limited per process only, cores not at all: {held.cgroups}"
    landlock = "" if held.landlock_abi else "the kernel has none, or it is off: mounts alone hold paths"
    for what, why_not, works, fix in (
        ("user namespaces", held.user_namespaces, "open to ordinary users", advice.for_namespaces(host)),
        ("bubblewrap", held.bubblewrap, "works, with namespaces for every run inside", fixes["sandbox"]),
        ("control groups", groups, "limit memory and processes of a run as a whole", advice.for_cgroups(host)),
        ("landlock", landlock, f"ABI {held.landlock_abi}", advice.for_landlock(host)),
        ("seccomp", "" if held.seccomp else "no filter can be set", "works", advice.for_seccomp(host)),
        ("docker engine", no_docker, docker_engine, DOCKER_FIX),
    ):
        yield Finding(
            area="isolation",
            what=what,
            ok=None if why_not else True,
            detail=why_not or works,
            fix=fix if why_not else "",
        )


def _plain_processes(host: advice.Host, held: HostIsolation) -> Finding:
    about = advice.of_plain_processes(held.landlock_abi, seccomp=held.seccomp, no_sandbox=held.bubblewrap)
    linux = host.system == "linux"
    return Finding(
        area="isolation",
        what="process",
        ok=True if held.landlock_abi and held.seccomp else None,
        detail=about if linux else f"nothing but the supervisor: {host.system} has no locks",
        fix="" if linux else advice.LINUX,
    )


def _cores(cpus: float, held: HostIsolation, fix: str, *, engine: bool) -> Finding:
    trouble = held.bubblewrap or held.cores
    return Finding(
        area="isolation",
        what=f"{cpus:g} cores a script",
        ok=None if trouble else True,
        detail=f"{'held in containers only' if engine else 'not held here'}: {trouble}" if trouble else "held",
        fix=fix if trouble else "",
    )


def _docker() -> tuple[str, str | None, str]:
    """Its version, the name by which it knows gVisor, and why there is none."""
    try:
        client = docker.from_env(timeout=PROBE_TIMEOUT_S)
        return f"Docker {client.version()['Version']}", gvisor_among(client.info()), ""
    except (DockerException, RequestException) as error:
        return "", None, f"not reachable: {str(error)[:80]}"


def this_host() -> advice.Host:
    settings = {
        name: int(file.read_text())
        for name in advice.BLOCKING
        if (file := Path("/proc/sys") / name.replace(".", "/")).exists()
    }
    status = Path("/proc/self/status")
    return advice.Host(
        system=sys.platform,
        root=os.geteuid() == 0,
        container=any(map(os.path.exists, CONTAINER_MARKS)) or "KUBERNETES_SERVICE_HOST" in os.environ,
        filtered=status.exists() and "Seccomp:\t2" in status.read_text(),
        unified=Path("/sys/fs/cgroup/cgroup.controllers").exists(),
        settings=settings,
    )
