"""A skill's folder, whatever it was written in, as the one Skill model."""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .config_values import CONFIG, CONFIG_SCHEMA, read_config, read_config_schema
from .declared_values import VERSION
from .files import HEAD_BYTES, JSON_BYTES, bounded, head
from .loaders import claiming, load, loaders
from .manifest import MANIFEST, manifest_part
from .models import Scope, Skill, Skipped
from .parts import Part, folded
from .problems import Problem
from .records import named, record_part
from .skill_md import skill_md_part

DOCUMENTATION = "SKILL.md"
PROMPT = "prompt.md"
_BESIDE = (MANIFEST, PROMPT, CONFIG_SCHEMA, CONFIG)


def read_skill(folder: Path, *, scope: Scope = "project", record: Mapping[str, Any] | None = None) -> Skill | Skipped:
    """A record names the skill; else the folder does: `name`, or `name@1.2.0`.

    Raises:
        OSError: the folder itself cannot be read.
    """
    root = Path(os.path.realpath(folder))
    names = _names(root)
    name, version = _called(folder)
    name = (named(record) if record is not None else None) or name
    bare = Skill(name, root, scope=scope)
    documentation = documentation_of(names)
    stranger = claiming(names)
    if stranger and documentation is None and MANIFEST not in names and record is None:
        return load(stranger, bare)
    parts = _parts(bare, names, documentation, record)
    pinned = version or (parts[0].values.get("version") if record is not None else None)
    skill = folded(bare, parts, pinned)
    return skill if isinstance(skill, Skipped) else _with_config(skill, names)


def marks_skill(names: Collection[str]) -> bool:
    """Whether files of these names make their folder a skill."""
    return documentation_of(names) is not None or MANIFEST in names or claiming(names) is not None


def documents(folder: Path) -> tuple[str, ...]:
    """The files there whose change changes what is read.

    Raises:
        OSError: the folder cannot be read.
    """
    names = _names(folder)
    claimed = (document for loader in loaders() for document in loader.documents)
    counting = {documentation_of(names), *_BESIDE, *claimed}
    return tuple(sorted(name for name in names if name in counting))


def documentation_of(names: Collection[str]) -> str | None:
    """SKILL.md however it is spelled, the usual spellings first."""
    # ASCII: there is a K that is another letter until it is made small.
    spelled = sorted(name for name in names if name.isascii() and name.lower() == DOCUMENTATION.lower())
    usual = (name for name in (DOCUMENTATION, DOCUMENTATION.lower()) if name in spelled)
    return next(usual, spelled[0] if spelled else None)


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def _called(folder: Path) -> tuple[str, str | None]:
    whole = Path(os.path.abspath(folder)).name  # noqa: PTH100 - resolve() would follow a link, which has the name
    name, at, version = whole.partition("@")
    return (name, version) if name and at and VERSION.fullmatch(version) else (whole, None)


def _parts(bare: Skill, names: set[str], documentation: str | None, record: Mapping[str, Any] | None) -> list[Part]:
    parts = [record_part(record)] if record is not None else []
    if documentation:
        data = head(bare.root, documentation, HEAD_BYTES)
        parts.append(
            Part("skill_md", documentation, problems=(data,))
            if isinstance(data, Problem)
            else skill_md_part(bare.name, documentation, data)
        )
    if MANIFEST in names:
        data = bounded(bare.root, MANIFEST, JSON_BYTES, "warning" if documentation else "error")
        parts.append(
            Part("skill_json", MANIFEST, problems=(data,))
            if isinstance(data, Problem)
            else manifest_part(bare.name, data, lone=documentation is None)
        )
    return parts


def _with_config(skill: Skill, names: set[str]) -> Skill:
    """With what lies beside its skill.json. A file called config.json may be anything where nothing speaks of it."""
    problems: tuple[Problem, ...] = ()
    schema = config = None
    if CONFIG_SCHEMA in names:
        data = bounded(skill.root, CONFIG_SCHEMA, JSON_BYTES)
        schema, problems = (None, (data,)) if isinstance(data, Problem) else read_config_schema(data)
    if CONFIG in names and (MANIFEST in names or CONFIG_SCHEMA in names or skill.requires.config):
        data = bounded(skill.root, CONFIG, JSON_BYTES)
        config, more = (None, (data,)) if isinstance(data, Problem) else read_config(data, schema)
        problems += more
    prompt = PROMPT if PROMPT in names and MANIFEST in names else None
    return replace(skill, prompt=prompt, config_schema=schema, config=config, problems=skill.problems + problems)
