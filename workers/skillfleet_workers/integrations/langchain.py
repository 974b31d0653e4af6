"""A skill's scripts as LangChain tools: `pip install 'skillfleet[langchain]'`."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, Field

from ..execution_api import EnvironmentUnavailableError, SkillManager
from ..script_result import ScriptExecutionResult
from ..skills.errors import ScriptRefusedError
from ..skills.scripts import ScriptMetadata
from ..skills.tool_names import script_tool_names
from ..wire.contract import RunSkillScript

try:
    from langchain_core.tools import StructuredTool, ToolException
except ModuleNotFoundError as missing:
    raise ImportError("LangChain is not installed: pip install 'skillfleet[langchain]'") from missing


class ScriptInput(BaseModel):
    arguments: dict[str, Any] | None = Field(
        default=None, description=RunSkillScript.model_fields["arguments"].description
    )
    args: tuple[str, ...] = Field(default=(), description=RunSkillScript.model_fields["args"].description)


def script_tools(manager: SkillManager, skill_name: str) -> list[StructuredTool]:
    """One tool per script of the skill: it gives stdout, and raises ToolException where the script was no success.

    Raises:
        SkillNotFoundError
    """
    skill = manager.skill(skill_name)
    named = script_tool_names(skill, manager.scripts(skill_name))
    return [_tool(manager, skill_name, name, script) for name, script in named.items()]


def _tool(manager: SkillManager, skill_name: str, name: str, script: ScriptMetadata) -> StructuredTool:
    return StructuredTool.from_function(
        func=_runner(manager, skill_name, script),
        name=name,
        description=script.description or f"Run {script.path} of the skill {skill_name}.",
        args_schema=ScriptInput,
    )


def _runner(manager: SkillManager, skill_name: str, script: ScriptMetadata) -> Callable[..., str]:
    def run(arguments: dict[str, Any] | None = None, args: tuple[str, ...] = ()) -> str:
        try:
            result = manager.execute_skill_script(skill_name, str(script.path), arguments, args=args)
        except (ScriptRefusedError, EnvironmentUnavailableError) as refused:
            raise ToolException(str(refused)) from refused
        if result.success:
            return result.stdout
        raise ToolException(_failure(result))

    return run


def _failure(result: ScriptExecutionResult) -> str:
    return result.stderr or result.error or f"The script ended with code {result.exit_code}."
