"""What each tool does on a worker: a checked request in, a result value out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .activation import activated, tools_of
from .call_context import CallContext
from .environments.build import Environments
from .given import NO_OVERRIDE
from .offering import Offering
from .runtimes.base import Runtime
from .runtimes.code_runs import CodeMode
from .script_calls import ScriptCall
from .skill_runs import SkillRuns
from .skills.catalog import SkillCatalog
from .skills.errors import ScriptRefusedError
from .skills.imports import SkillImports
from .skills.models import Skill
from .skills.override_file import Override
from .skills.paths import document
from .wire.contract import (
    ActivateSkill,
    Document,
    ExecuteCode,
    GetSkill,
    ListSkills,
    ReadFileInSkill,
    RunPythonScript,
    RunSkillScript,
    SearchSpec,
    SkillContent,
    SkillList,
    SkillSummary,
    ToolError,
    UsedSkill,
)
from .wire.execution import ScriptExecution
from .wire.published import PublishedSkill, Snapshot

__all__ = ["CallContext", "Toolbox"]

INLINE = "# /// script"
"""What begins the requirements of a script in itself (PEP 723)."""

Use = Callable[[Skill], ScriptExecution | ToolError]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """`overrides`: what the operator says of a skill, by its name. `digest_of`: which state of it there is now.
    `snapshots`: what was published under an id. `offering`: what may run here; None: all that there is.
    `programs`: folders that scripts find programs in, besides those of the system."""

    catalog: SkillCatalog
    environments: Environments
    runtime: Runtime
    script_timeout_s: float
    artifacts_folder: Path
    imports: SkillImports = field(default_factory=SkillImports)
    script_cpus: float | None = None
    overrides: Callable[[str], Override] = lambda name: NO_OVERRIDE
    digest_of: Callable[[Skill], str] = lambda skill: ""
    snapshots: Callable[[str], Snapshot | None] = lambda snapshot_id: None
    offering: Offering | None = None
    programs: tuple[Path, ...] = ()

    @property
    def runs(self) -> SkillRuns:
        return SkillRuns(
            environments=self.environments,
            runtime=self.runtime,
            script_timeout_s=self.script_timeout_s,
            artifacts_folder=self.artifacts_folder,
            imports=self.imports,
            script_cpus=self.script_cpus,
            overrides=self.overrides,
            programs=self.programs,
        )

    def skill(self, name: str, context: CallContext) -> Skill | ToolError:
        """The skill that a call is about, in the state that its conversation keeps to."""
        found = self.catalog.find(name, context.skills, context.digest)
        if isinstance(found, Skill):
            digest = self._digest(found, context)
            context.notes.used = UsedSkill(name=found.name, version=found.version, digest=digest)
        return found

    def governing(self, name: str, digest: str) -> Skill | ToolError:
        """The skill whose hooks are to run."""
        found = self.catalog.find(name, None, digest)
        refused = self.offering.prohibition(found, digest) if self.offering and isinstance(found, Skill) else None
        return refused or found

    def list_skills(self, request: ListSkills, context: CallContext) -> SkillList:
        found = (
            skill
            for skill in self._summaries(context)
            if (context.skills is None or skill.name in context.skills) and set(request.tags) <= set(skill.tags)
        )
        return SkillList(skills=tuple(found))

    def get_skill(self, request: GetSkill, context: CallContext) -> Document | ToolError:
        skill = self.skill(request.skill_name, context)
        if isinstance(skill, ToolError):
            return skill
        piece = document(skill, None, request.offset)
        if isinstance(piece, ToolError) or request.offset:
            return piece
        return piece.model_copy(update={"scripts": tools_of(skill)})

    def activate(self, request: ActivateSkill, context: CallContext) -> SkillContent | ToolError:
        skill = self.skill(request.name, context)
        if isinstance(skill, ToolError):
            return skill
        if self.offering and (refused := self.offering.refusal(skill, context.digest)):
            return refused
        return activated(skill, self._digest(skill, context), request, self.runs, context)

    def read_file(self, request: ReadFileInSkill, context: CallContext) -> Document | ToolError:
        skill = self.skill(request.skill_name, context)
        return skill if isinstance(skill, ToolError) else document(skill, request.file_path, request.offset)

    def run_python(self, request: RunPythonScript, context: CallContext) -> ScriptExecution | ToolError:
        return self._with(
            request.skill_name,
            context,
            lambda skill: self.runs.python(skill, request.script, request.timeout, context),
            own_script=False,
            own_environment=INLINE not in request.script,
        )

    def run_script(self, request: RunSkillScript, context: CallContext) -> ScriptExecution | ToolError:
        call = ScriptCall(request.script, request.arguments, request.args or (), request.timeout)
        return self._with(
            request.skill_name,
            context,
            lambda skill: self.execute(skill, call, context),
            own_script=True,
            timeout_s=request.timeout,
        )

    def search(self, request: SearchSpec, context: CallContext) -> ScriptExecution | ToolError:
        return self._code(request, "search", context)

    def execute_code(self, request: ExecuteCode, context: CallContext) -> ScriptExecution | ToolError:
        return self._code(request, "execute", context)

    def execute(self, skill: Skill, call: ScriptCall, context: CallContext) -> ScriptExecution | ToolError:
        """ToolError: the skill's environment cannot be built.

        Raises:
            ScriptRefusedError: nothing ran.
        """
        return self.runs.script(skill, call, context)

    def _digest(self, skill: Skill, context: CallContext) -> str:
        return context.digest or self.digest_of(skill)

    def _code(
        self, request: SearchSpec | ExecuteCode, mode: CodeMode, context: CallContext
    ) -> ScriptExecution | ToolError:
        return self._with(
            request.skill_name,
            context,
            lambda skill: self.runs.code(skill, request.code, mode, request.timeout, context),
            own_script=False,
        )

    def _with(
        self,
        name: str,
        context: CallContext,
        use: Use,
        *,
        own_script: bool,
        own_environment: bool = True,
        timeout_s: int | None = None,
    ) -> ScriptExecution | ToolError:
        """What `use` comes to; a refusal is a value, too. `timeout_s`: the model's."""
        skill = self.skill(name, context)
        if isinstance(skill, ToolError):
            return skill
        if self.offering is None:
            return _used(skill, use)
        if refused := self.offering.refusal(skill, context.digest):
            return refused
        flags = {
            "own_script": own_script,
            "own_environment": own_environment,
            "own_timeout": timeout_s is None or timeout_s >= (skill.timeout or self.script_timeout_s),
        }
        with self.offering.run(skill, context.digest, **flags) as told:
            if isinstance(told, ToolError):
                return told
            result = _used(skill, use)
            told(result)
            return result

    def _summaries(self, context: CallContext) -> list[SkillSummary]:
        """Of what models may find: in the snapshot that the conversation keeps to, else on this worker."""
        snapshot = self.snapshots(context.snapshot) if context.snapshot else None
        if snapshot is None:
            found = [skill for skill in self.catalog.list() if not skill.disable_model_invocation]
            return [_summary(skill) for skill in found]
        return [_summary(skill) for skill in snapshot.skills if skill.eligible and not skill.hidden]


def _used(skill: Skill, use: Use) -> ScriptExecution | ToolError:
    try:
        return use(skill)
    except ScriptRefusedError as refused:
        return refused.tool_error()


def _summary(skill: Skill | PublishedSkill) -> SkillSummary:
    return SkillSummary(name=skill.name, description=skill.description, version=skill.version, tags=skill.tags)
