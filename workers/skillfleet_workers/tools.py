"""What each tool does on a worker: a checked request in, a result value out."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from . import __version__
from .environments.build import Environments
from .runtimes.base import RunRequest, Runtime
from .skills.catalog import SkillCatalog
from .skills.models import Skill
from .skills.paths import document
from .wire.contract import (
    CallRef,
    Document,
    GetSkill,
    ListSkills,
    ReadFileInSkill,
    RunPythonScript,
    SkillList,
    SkillSummary,
    ToolError,
)
from .wire.execution import ScriptExecution

SKILLKIT_VERSION = "0.3.0"
"""The contract of seed 001 that scripts can count on."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """`skills`: the only ones this conversation may use; None: all. `cancelled` is set when the result is no
    longer wanted."""

    ref: CallRef
    skills: Collection[str] | None
    cancelled: Event


@dataclass(frozen=True, slots=True)
class Toolbox:
    catalog: SkillCatalog
    environments: Environments
    runtime: Runtime
    script_timeout_s: float
    artifacts_folder: Path

    def list_skills(self, request: ListSkills, context: CallContext) -> SkillList:
        skills = self.catalog.list(context.skills)
        return SkillList(skills=tuple(SkillSummary(name=s.name, description=s.description) for s in skills))

    def get_skill(self, request: GetSkill, context: CallContext) -> Document | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        return skill if isinstance(skill, ToolError) else document(skill, None, request.offset)

    def read_file(self, request: ReadFileInSkill, context: CallContext) -> Document | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        return skill if isinstance(skill, ToolError) else document(skill, request.file_path, request.offset)

    def run_python(self, request: RunPythonScript, context: CallContext) -> ScriptExecution | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        if isinstance(skill, ToolError):
            return skill
        interpreter = self.environments.interpreter_for(skill, request.script, context.cancelled)
        if isinstance(interpreter, ToolError):
            return interpreter
        return self.runtime.run(
            RunRequest(
                skill_name=skill.name,
                skill_root=skill.root,
                interpreter=interpreter,
                script=request.script,
                environment=script_environment(skill, interpreter, context.ref),
                timeout_s=request.timeout or skill.timeout or self.script_timeout_s,
                cancelled=context.cancelled,
                keep=self._kept(context.ref),
            )
        )

    def _kept(self, ref: CallRef) -> Path:
        return self.artifacts_folder / ref.conversation_id / f"{ref.key}.{ref.attempt}"


def script_environment(skill: Skill, interpreter: Path, ref: CallRef) -> dict[str, str]:
    """A clean base and seed 001's names, nothing of the worker's."""
    return {
        "PATH": f"{interpreter.parent}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(skill.root),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SKILL_NAME": skill.name,
        "SKILL_BASE_DIR": str(skill.root),
        "SKILL_VERSION": skill.version,
        "SKILLKIT_VERSION": SKILLKIT_VERSION,
        "SKILLFLEET_VERSION": __version__,
        "SKILLFLEET_CALL_ID": ref.task_id,
    }
