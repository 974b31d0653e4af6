"""What other parts are to bring, each under the name that it has there."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..settings import WorkerSettings
from ..wire.contract import ToolError
from .catalog import SkillCatalog as OneRoot
from .frontmatter import FrontmatterError, split
from .models import Scope, Skill, Skipped
from .paths import open_inside
from .problems import Problem
from .skill_md import read_skill_md

# reading.py


def marks_skill(names: Collection[str]) -> bool:
    return any(name.lower() in ("skill.md", "skill.json") for name in names)


def read_skill(folder: Path, *, scope: Scope = "project", record: Mapping[str, Any] | None = None) -> Skill | Skipped:
    name = folder.name.partition("@")[0]
    document = next((entry.name for entry in folder.iterdir() if entry.name.lower() == "skill.md"), None)
    skill = Skill(name, folder, documentation=document, scope=scope)
    if document is None:
        return skill
    file = open_inside(folder, document)
    if isinstance(file, ToolError):
        return Skipped(name, folder, (Problem("unreadable", file.message, file.fix, document, severity="error"),))
    with file:
        return read_skill_md(skill, file.read(65_536))


# frontmatter.py: of whatever `split` gives, the value of `name`


def declared_name(head: bytes) -> object:
    try:
        fields, _ = split(head)
    except FrontmatterError:
        return None
    return fields.get("name") if fields else None


# strict.py


def strict_problems(folder: Path) -> tuple[Problem, ...]:
    read = read_skill(folder)
    return tuple(Problem(p.code, p.message, p.fix, p.file, p.line, "error") for p in read.problems)


# digests.py


def digest_of(root: Path) -> str:
    told = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            told.update(f"{path.relative_to(root)}\0{os.access(path, os.X_OK)}\0".encode() + path.read_bytes())
    return told.hexdigest()


# roots.py, precedence.py, catalog.py


@dataclass(frozen=True, slots=True)
class Root:
    scope: Scope
    path: Path


@dataclass(frozen=True, slots=True)
class Shadowed:
    name: str
    root: Path
    by: Path


def roots_of(settings: WorkerSettings) -> tuple[Root, ...]:
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    user = os.environ.get("SKILLFLEET_USER_SKILLS_PATH") or Path(base) / "skillfleet" / "skills"
    return Root("project", settings.skills_folder), Root("user", Path(user))


class SkillCatalog:
    problems: tuple[Problem, ...] = ()

    def __init__(self, roots: Iterable[Root]) -> None:
        self._roots = [(root, OneRoot(root.path)) for root in roots]

    @property
    def versions(self) -> tuple[Skill, ...]:
        named: dict[str, Skill] = {}
        for _, catalog in self._roots:
            for skill in catalog.list():
                named.setdefault(skill.name, skill)
        return tuple(named[name] for name in sorted(named))

    def find(self, name: str) -> Skill | ToolError:
        found = [catalog.find(name) for _, catalog in self._roots]
        return next((skill for skill in found if isinstance(skill, Skill)), found[0])

    @property
    def skips(self) -> tuple[Skipped, ...]:
        return tuple(
            Skipped(name, root.path / name, (Problem("unreadable", reason, "Mend it.", ".", severity="error"),))
            for root, catalog in self._roots
            for name, reason in catalog.skipped.items()
        )

    @property
    def shadowed(self) -> tuple[Shadowed, ...]:
        held = {skill.name: skill.root for skill in self.versions}
        every = [skill for _, catalog in self._roots for skill in catalog.list()]
        return tuple(Shadowed(s.name, s.root, held[s.name]) for s in every if held[s.name] != s.root)


# registry.py, eligibility.py, this_host.py, override_file.py


class Registry:
    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self.skills = tuple(skills)


@dataclass(frozen=True, slots=True)
class Override:
    enabled: bool = True
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Host:
    environ: Mapping[str, str]


def this_host(script_path: str, queues: frozenset[str] = frozenset()) -> Host:
    return Host(os.environ)


def why_not(
    skill: Skill, host: Host, override: Override, registry: Registry, others: Callable[[str], Override]
) -> str | None:
    if not override.enabled:
        return "it is turned off on this machine"
    missing = [name for name in skill.requires.bins if not shutil.which(name)]
    return f"it needs the program {missing[0]!r}" if missing else None


# settings.py: fields of WorkerSettings


def worker_queues(settings: WorkerSettings) -> frozenset[str]:
    return frozenset()


def skills_config(settings: WorkerSettings) -> Path:
    return Path(os.environ.get("SKILLFLEET_SKILLS_CONFIG") or settings.state_dir / "skills.yaml")


# overrides.py


class Overrides:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem: Problem | None = None

    def of(self, name: str) -> Override:
        return Override(**_read(self._path).get(name, {}))


def set_enabled(path: Path, name: str, enabled: bool) -> Problem | None:
    skills = {**_read(path), name: {"enabled": enabled}}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        yaml.safe_dump({"skills": skills}, file)
    Path(file.name).replace(path)
    return None


def _read(path: Path) -> dict[str, Any]:
    return (yaml.safe_load(path.read_text()) or {}).get("skills", {}) if path.exists() else {}
