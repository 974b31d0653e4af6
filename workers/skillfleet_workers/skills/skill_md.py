"""What SKILL.md says of its skill, read leniently: what can be used is used, the rest is a warning (pure)."""

import re
import unicodedata
from dataclasses import replace
from typing import Any

from .declared_values import declared, shown
from .frontmatter import FrontmatterError, split
from .models import NO_DESCRIPTION, Skill, Skipped
from .problems import Problem

MAX_NAME = 64
MAX_DESCRIPTION = 1024

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}")
_RULE = re.compile(r"(=+|-+|\*+|_+)")
_NO_PROSE = re.compile(r"<!--.*?(-->|\Z)|^```.*?(^```|\Z)", re.DOTALL | re.MULTILINE)


def read_skill_md(skill: Skill, head: bytes) -> Skill | Skipped:
    """`skill`, filled with what the first bytes of its documentation say."""
    try:
        fields, body_offset = split(head)
    except FrontmatterError as wrong:
        return _skipped(skill, f"{skill.documentation}: {wrong}")
    if fields is None:
        text = head[body_offset:].decode("utf-8", "replace")
        return replace(
            skill,
            description=first_paragraph(text) or NO_DESCRIPTION,
            body_offset=body_offset,
            problems=_told(skill, _name_problems(skill.name)),
        )
    description = fields.get("description")
    if not isinstance(description, str) or not description.strip():
        return _skipped(skill, f"{skill.documentation}: its frontmatter has no description")
    return _filled(replace(skill, description=description.strip(), body_offset=body_offset), fields)


def _filled(skill: Skill, fields: dict[str, Any]) -> Skill:
    metadata = fields.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    own = metadata.get("skillfleet")
    own = own if isinstance(own, dict) else {}
    problems = _name_problems(skill.name, fields.get("name"))
    if len(skill.description) > MAX_DESCRIPTION:
        problems.append(f"the description is longer than {MAX_DESCRIPTION} characters")
    values = declared(fields, own, problems)
    version = _version(fields.get("version", metadata.get("version")), problems) or skill.version
    queue = str(own.get("queue") or "")
    return replace(skill, **values, version=version, queue=queue, problems=_told(skill, problems))


def _told(skill: Skill, said: list[str]) -> tuple[Problem, ...]:
    return tuple(Problem("frontmatter", what, "", skill.documentation or "") for what in said)


def _skipped(skill: Skill, why: str) -> Skipped:
    return Skipped(skill.name, skill.root, (Problem("unreadable", why, "", skill.documentation or ""),))


def first_paragraph(markdown: str) -> str:
    """Of running text; of a heading, where there is nothing else."""
    heading = ""
    for block in re.split(r"\n\s*\n", _NO_PROSE.sub("", markdown.replace("\r\n", "\n"))):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        while lines and lines[0].startswith("#"):
            heading = heading or lines[0].strip("# ")
            lines = lines[1:]
        if len(lines) > 1 and _RULE.fullmatch(lines[1]):
            heading = heading or lines[0]
            lines = lines[2:]
        if lines and not _RULE.fullmatch(lines[0]):
            return " ".join(lines)[:MAX_DESCRIPTION].strip()
    return heading[:MAX_DESCRIPTION]


def _name_problems(folder: str, name: object = None) -> list[str]:
    if name is not None and name != folder:
        return [f"the name in SKILL.md is {shown(name)}, the folder's is {folder!r}; the folder's holds"]
    plain = unicodedata.normalize("NFKC", folder)
    legal = plain == plain.lower() and all(part.isalnum() for part in plain.split("-"))
    if legal and len(plain) <= MAX_NAME:
        return []
    return [f"the name {folder!r} is not 1-{MAX_NAME} lower-case letters, digits and single hyphens"]


def _version(value: object, problems: list[str]) -> str | None:
    if value is None or (isinstance(value, str) and _VERSION.fullmatch(value)):
        return value
    problems.append(f"version: {shown(value)} is no version; ignored")
    return None
