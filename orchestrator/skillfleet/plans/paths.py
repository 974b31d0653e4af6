"""Which script of which skill a tool path names (pure)."""

from dataclasses import dataclass

from skillfleet_workers.wire.versions import split

SKILLS = "skills"
"""The folder of all skills, with which a path may begin."""


@dataclass(frozen=True, slots=True)
class ToolPath:
    """`script`: its path in the skill, or its name."""

    skill: str
    script: str


def tool_path(text: str) -> ToolPath | str:
    """Or what is wrong with it: what would lead out of the skill's folder never reaches a worker."""
    if "\\" in text or not text.isprintable():
        return "has '/' between its parts, and nothing but names there"
    if text.startswith("/"):
        return "begins with the name of a skill, not with '/'"
    parts = text.removeprefix("./").split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "leads through folders by their names alone: no '..', no '.', no empty one"
    if parts[0] == SKILLS and len(parts) > 2:
        parts = parts[1:]
    if len(parts) < 2:
        return "names a skill and its script, as in 'csv-insights/scripts/summary.py'"
    return ToolPath(parts[0], "/".join(parts[1:]))


def skill_in(text: str) -> str:
    """Of the tool path the skill, without its version; empty: it is none."""
    found = tool_path(text)
    return split(found.skill)[0] if isinstance(found, ToolPath) else ""
