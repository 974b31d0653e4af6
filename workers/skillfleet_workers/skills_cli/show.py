"""skills show: all that is known of one skill."""

from dataclasses import asdict, fields
from typing import Annotated, Any

import typer

from ..script_calls import runs_scripts
from ..skills.digests import digest_of
from ..skills.models import Skill
from ..skills.scripts import scripts_of
from ..skills.tool_names import script_tools
from .machine import Machine
from .told import FAILED, Json, say, say_json, say_problems

TOLD_APART = ("root", "problems", "requires", "body_offset")
ALWAYS = ("name", "version", "description", "scope", "folder", "digest", "source", "health")


def show(
    name: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="The skill.", show_default=False)],
    as_json: Json = False,
) -> int:
    """All that is known of a skill: what it declares, whether it can run here, and what is wrong with it."""
    machine = Machine()
    skipped = [skip for skip in machine.catalog.skips if skip.name == name]
    if skipped and name not in machine.names:
        if as_json:
            problems = [problem.as_json() for problem in skipped[0].problems]
            say_json({"name": name, "folder": str(skipped[0].root), "state": "skipped", "problems": problems})
        else:
            say(f"{name}: skipped")
            say_problems(skipped[0].problems)
        return FAILED
    skill = machine.find(name)
    if as_json:
        say_json(described(machine, skill))
    else:
        _say(described(machine, skill), skill)
    return 0


def described(machine: Machine, skill: Skill) -> dict[str, Any]:
    declared = {f.name: getattr(skill, f.name) for f in fields(skill) if f.name not in TOLD_APART}
    reason, locked = machine.reason(skill), machine.locked(skill)
    tools = script_tools(skill, scripts_of(skill)) if runs_scripts(skill) else ()
    return {
        **declared,
        "folder": str(skill.root),
        "digest": digest_of(skill.root),
        "source": locked.source if locked else None,
        "eligible": not reason,
        "reason": reason,
        "health": machine.health(skill),
        "requires": asdict(skill.requires),
        "scripts": [tool.model_dump() for tool in tools],
        "problems": [problem.as_json() for problem in skill.problems],
    }


def _say(told: dict[str, Any], skill: Skill) -> None:
    usual = {field.name: field.default for field in fields(skill)}
    for name, value in told.items():
        if value and (name in ALWAYS or (name not in TOLD_APART and name in usual and value != usual[name])):
            say(f"{name.replace('_', ' ')}: {', '.join(map(str, value)) if isinstance(value, tuple) else value}")
    for what, names in asdict(skill.requires).items():
        if names:
            say(f"requires {what.replace('_', ' ')}: {', '.join(names)}")
    say("eligible: yes" if told["eligible"] else f"eligible: no, {told['reason']}")
    for script in told["scripts"]:
        say(f"script: {script['script']} ({script['language']}; {script['tool']}) {script['description']}".rstrip())
    if skill.problems:
        say("problems:")
        say_problems(skill.problems)
