"""Why a script is not run: seed 001's eight errors, each raised before anything runs. A class's docstring is the
template of its message."""

import re
from typing import ClassVar

from ..wire.contract import ToolError
from ..wire.shown import short

FACT_CHARS = 2_000
"""Most characters of a name or a list that a message quotes."""


class ScriptRefusedError(Exception):
    """Nothing ran."""

    fix: ClassVar[str] = ""

    def __init__(self, **facts: object) -> None:
        told = {name: short(fact, FACT_CHARS) for name, fact in facts.items()}
        super().__init__((type(self).__doc__ or "").format(**told))

    def tool_error(self) -> ToolError:
        """With a code that is the class's name: `script_not_found`."""
        words = re.findall("[A-Z][a-z]+", type(self).__name__.removesuffix("Error"))
        return ToolError(error="_".join(words).lower(), message=f"{self}.", fix=self.fix)


class SkillNotFoundError(ScriptRefusedError):
    """Skill '{skill}' not found: {reason}"""

    fix = "Use a name exactly as list_skills gives it."


class ScriptNotFoundError(ScriptRefusedError):
    """Script '{script}' not found in skill '{skill}', which has {scripts}"""

    fix = "Name one of the skill's scripts."


class InterpreterNotFoundError(ScriptRefusedError):
    """Interpreter '{interpreter}' not found in PATH for {script}"""

    fix = "Do without this script, or tell the user that the worker lacks its interpreter."


class PathSecurityError(ScriptRefusedError):
    """Script path '{script}' leads out of skill '{skill}'"""

    fix = "Give a script's name, or its path relative to the skill's folder, without '..' or '\\'."


class ScriptPermissionError(ScriptRefusedError):
    """Script has {bit} bit: {script}"""

    fix = "Tell the user to remove the bit (chmod ug-s): such a script is never run."


class ArgumentSerializationError(ScriptRefusedError):
    """Cannot serialize arguments: {reason}"""

    fix = "Give a JSON object of plain values."


class ArgumentSizeError(ScriptRefusedError):
    """Arguments too large: {size} bytes (max {limit_mb}MB)"""

    fix = "Pass less, or the path of a file that holds it."


class ToolRestrictionError(ScriptRefusedError):
    """Skill '{skill}' does not run scripts: its allowed-tools do not include 'Bash'"""

    fix = "Use the skill without its scripts."
