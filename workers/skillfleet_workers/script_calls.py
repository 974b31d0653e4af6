"""A call of a script that a skill brings along: all that can be refused is refused before anything runs."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .schemas import fitting_arguments
from .skills.errors import InterpreterNotFoundError, ToolRestrictionError
from .skills.languages import INTERPRETERS
from .skills.models import InputMode, Skill
from .skills.paths import open_inside
from .skills.script_input import input_mode, script_input
from .skills.scripts import ScriptMetadata, entry_of, find_script, read_script, scripts_of
from .wire.contract import RUN_SCRIPT, ToolError

CLEAN_PATH = "/usr/local/bin:/usr/bin:/bin"
BASH = "Bash"


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """`script` is a name or a path in the skill; `arguments` go to standard input, `args` on the command line."""

    script: str
    arguments: Mapping[str, Any] | None = None
    args: tuple[str, ...] = ()
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ReadyScript:
    """`interpreter` None: that of the skill's own Python environment, which `source` helps to choose. `governed`: the
    skill's schemas are about this script."""

    script: ScriptMetadata
    source: str
    mode: InputMode
    stdin: bytes
    interpreter: Path | None
    governed: bool


def runs_scripts(skill: Skill) -> bool:
    """Whether `allowed-tools` leaves it its scripts: by seed 001's name, or by the names that they have here."""
    allowed = skill.allowed_tools
    return allowed is None or any(
        tool.partition("(")[0] in (BASH, RUN_SCRIPT.tool) or "__" in tool for tool in allowed
    )


def ready(skill: Skill, call: ScriptCall, request_id: str, path: str = CLEAN_PATH) -> ReadyScript:
    """`path`: where its interpreter is looked for.

    Raises: ScriptRefusedError: nothing may run."""
    if not runs_scripts(skill):
        raise ToolRestrictionError(skill=skill.name)
    script = find_script(skill, call.script)
    source = read_script(skill, script)
    governed = script == entry_of(skill, scripts_of(skill))
    arguments = call.arguments
    if governed and skill.parameters_schema is not None:
        arguments = fitting_arguments(skill, script.path, arguments)
    mode = input_mode(skill, script, arguments)
    stdin = script_input(skill, script, arguments, mode, request_id)
    return ReadyScript(script, source, mode, stdin, interpreter_of(script, path), governed)


def is_file_of(skill: Skill, path: str) -> bool:
    """`path` is relative to the skill, or absolute as its scripts know it."""
    file = open_inside(skill.root, path.removeprefix(f"{skill.root}/"))
    if isinstance(file, ToolError):
        return False
    file.close()
    return True


def interpreter_of(script: ScriptMetadata, path: str = CLEAN_PATH) -> Path | None:
    """None: the skill's Python environment has it.

    Raises:
        InterpreterNotFoundError
    """
    if script.script_type == "python":
        return None
    name = INTERPRETERS[script.script_type]
    found = shutil.which(name, path=path)
    if found is None:
        raise InterpreterNotFoundError(interpreter=name, script=script.path)
    return Path(found)
