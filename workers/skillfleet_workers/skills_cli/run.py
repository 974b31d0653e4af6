"""skills run: a script of a skill as the fleet would run it, with no fleet."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..execution_api import EnvironmentUnavailableError, SkillManager
from ..script_calls import ScriptCall
from ..settings import forget_model_keys
from ..skills.errors import ScriptRefusedError
from ..skills.models import Skill, Skipped
from ..skills.reading import read_skill
from ..wire.contract import MAX_TIMEOUT_SECONDS
from ..wire.shown import short
from .machine import Machine
from .told import FAILED, UsageError, complain, say_json

Arguments = Annotated[
    str | None,
    typer.Option("--json", metavar="JSON", help="The script's arguments, a JSON object; - reads it from stdin."),
]


def run_script(
    skill: Annotated[str, typer.Argument(help="Its name, or the path of its folder.", show_default=False)],
    script: Annotated[str, typer.Argument(help="A script's name, or its path in the skill.", show_default=False)],
    args: Annotated[list[str] | None, typer.Argument(help="Its command line, after --.", show_default=False)] = None,
    arguments: Arguments = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.001, max=MAX_TIMEOUT_SECONDS, help="Seconds; else the skill's, else the setting's."),
    ] = None,
) -> int:
    """Run a script of a skill as the fleet would; its ScriptExecution on stdout, as JSON."""
    forget_model_keys()
    call = ScriptCall(script, _object(arguments), tuple(args or ()), timeout)
    machine = Machine()
    found = _in_folder(skill) if os.sep in skill else machine.find(skill)
    if reason := machine.reason(found):
        complain(f"{found.name} cannot run here: {reason}")
        return FAILED
    try:
        with SkillManager.of(machine.settings) as manager:
            done = manager.run(found, call)
    except ScriptRefusedError as refused:
        raise UsageError(f"{refused}; {refused.fix}") from None
    except EnvironmentUnavailableError as unavailable:
        complain(str(unavailable))
        return FAILED
    say_json(done.model_dump(mode="json"))
    return 0 if done.success else FAILED


def _object(given: str | None) -> dict[str, Any] | None:
    if given is None:
        return None
    try:
        value = json.loads(sys.stdin.read() if given == "-" else given)
    except UnicodeDecodeError:
        raise UsageError("--json: what was read from stdin is not UTF-8 text") from None
    except (ValueError, RecursionError) as wrong:
        what = "stdin" if given == "-" else repr(short(given))
        raise UsageError(f"--json: {what} is no JSON ({short(wrong, 120)})") from None
    if not isinstance(value, dict):
        raise UsageError('--json must be a JSON object, such as {"name": "Ada"}')
    return value


def _in_folder(path: str) -> Skill:
    folder = Path(os.path.realpath(path))
    if not folder.is_dir():
        raise UsageError(f"{path} is no folder of a skill")
    read = read_skill(folder)
    if isinstance(read, Skipped):
        raise UsageError(f"{path} is no skill that loads: {read.reason}")
    return read
