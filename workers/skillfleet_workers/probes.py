"""What a machine offers a worker, found by trying it, not by version."""

import shutil
import subprocess
from collections.abc import Iterator

import docker
import uv
from docker.errors import DockerException
from requests.exceptions import RequestException

from .environments.build import base_interpreter
from .settings import WorkerSettings
from .skills.catalog import SkillCatalog
from .wire.contract import WireModel

PROBE_TIMEOUT_S = 10
INTERPRETERS = {"bash": "shell", "node": "JavaScript", "ruby": "Ruby", "perl": "Perl"}


class Finding(WireModel):
    """`ok` is None where it is missing but not needed. `fix` says how to get it."""

    area: str
    what: str
    ok: bool | None
    detail: str
    fix: str = ""


def probe_host(settings: WorkerSettings) -> list[Finding]:
    return [*_skills(settings), *_interpreters(), *_isolation()]


def _skills(settings: WorkerSettings) -> Iterator[Finding]:
    catalog = SkillCatalog(settings.skills_folder)
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
            yield Finding(area="skills", what=skill.name, ok=None, detail=problem)


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


def _isolation() -> Iterator[Finding]:
    yield Finding(
        area="isolation",
        what="scripts run with",
        ok=True,
        detail="process: a supervisor kills the whole tree, against accidents, not against hostile code",
    )
    works, why = _bubblewrap()
    yield Finding(
        area="isolation",
        what="bubblewrap",
        ok=True if works else None,
        detail="works here" if works else why,
        fix="" if works else "install bubblewrap and allow user namespaces",
    )
    version, why = _docker()
    yield Finding(
        area="isolation",
        what="docker engine",
        ok=True if version else None,
        detail=version or why,
        fix="" if version else "install and start a Docker engine, and let this user reach it",
    )


def _bubblewrap() -> tuple[bool, str]:
    binary = shutil.which("bwrap")
    if binary is None:
        return False, "not found"
    probe = [binary, "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        tried = subprocess.run(probe, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return False, "does not answer"
    return tried.returncode == 0, tried.stderr.strip()


def _docker() -> tuple[str, str]:
    try:
        client = docker.from_env(timeout=PROBE_TIMEOUT_S)
        return f"Docker {client.version()['Version']}", ""
    except (DockerException, RequestException) as error:
        return "", f"not reachable: {str(error)[:80]}"
