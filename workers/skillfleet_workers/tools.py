"""What each tool does on a worker: a checked request in, a result value out."""

import os
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

from . import __version__
from .code_calls import code_call, code_tools
from .environments.build import Environments
from .environments.progress import silent
from .runtimes.base import Limits, RunRequest, Runtime
from .runtimes.code_runs import PRELOAD, RUNNER, CodeMode, answered
from .runtimes.ndjson import understood
from .script_calls import CLEAN_PATH, ReadyScript, ScriptCall, is_file_of, ready, runs_scripts
from .skills.catalog import SkillCatalog
from .skills.errors import ScriptRefusedError
from .skills.imports import SkillImports
from .skills.models import WITHHELD, Skill
from .skills.paths import document
from .skills.scripts import scripts_of
from .skills.tool_names import script_tools
from .wire.contract import (
    CallRef,
    Document,
    ExecuteCode,
    GetSkill,
    ListSkills,
    ReadFileInSkill,
    RunPythonScript,
    RunSkillScript,
    SearchSpec,
    SkillList,
    SkillSummary,
    ToolError,
)
from .wire.execution import Output, ScriptExecution

SKILLKIT_VERSION = "0.3.0"
"""The contract of seed 001 that scripts can count on."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """`skills`: the only ones this conversation may use; None: all. `cancelled` is set when the result is no
    longer wanted. `tell` shows a line to those who follow the conversation, `hear` what a script writes."""

    ref: CallRef
    skills: Collection[str] | None
    cancelled: Event
    tell: Callable[[str], None] = silent
    hear: Callable[[Output], None] | None = None


@dataclass(frozen=True, slots=True)
class Toolbox:
    catalog: SkillCatalog
    environments: Environments
    runtime: Runtime
    script_timeout_s: float
    artifacts_folder: Path
    imports: SkillImports = field(default_factory=SkillImports)
    script_cpus: float | None = None

    def list_skills(self, request: ListSkills, context: CallContext) -> SkillList:
        skills = self.catalog.list(context.skills)
        return SkillList(skills=tuple(SkillSummary(name=s.name, description=s.description) for s in skills))

    def get_skill(self, request: GetSkill, context: CallContext) -> Document | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        if isinstance(skill, ToolError):
            return skill
        piece = document(skill, None, request.offset)
        if isinstance(piece, ToolError) or request.offset:
            return piece
        scripts = script_tools(skill, scripts_of(skill)) if runs_scripts(skill) else ()
        return piece.model_copy(update={"scripts": (*code_tools(skill), *scripts)})

    def read_file(self, request: ReadFileInSkill, context: CallContext) -> Document | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        return skill if isinstance(skill, ToolError) else document(skill, request.file_path, request.offset)

    def run_python(self, request: RunPythonScript, context: CallContext) -> ScriptExecution | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        if isinstance(skill, ToolError):
            return skill
        with self.environments.leased(skill, request.script, context.cancelled, context.tell) as interpreter:
            if isinstance(interpreter, ToolError):
                return interpreter
            asked = self._asked(skill, interpreter, request.timeout, context, script=request.script)
            return self.runtime.run(asked)

    def run_script(self, request: RunSkillScript, context: CallContext) -> ScriptExecution | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        if isinstance(skill, ToolError):
            return skill
        call = ScriptCall(request.script, request.arguments, request.args or (), request.timeout)
        try:
            return self.execute(skill, call, context)
        except ScriptRefusedError as refused:
            return refused.tool_error()

    def search(self, request: SearchSpec, context: CallContext) -> ScriptExecution | ToolError:
        return self._run_code(request, "search", context)

    def execute_code(self, request: ExecuteCode, context: CallContext) -> ScriptExecution | ToolError:
        return self._run_code(request, "execute", context)

    def _run_code(
        self, request: SearchSpec | ExecuteCode, mode: CodeMode, context: CallContext
    ) -> ScriptExecution | ToolError:
        skill = self.catalog.find(request.skill_name, context.skills)
        if isinstance(skill, ToolError):
            return skill
        call = code_call(skill, request.code, mode)
        if isinstance(call, ToolError):
            return call
        with self.environments.leased(skill, None, context.cancelled, context.tell) as interpreter:
            if isinstance(interpreter, ToolError):
                return interpreter
            asked = self._asked(skill, interpreter, request.timeout, context, script=RUNNER, stdin=call.stdin)
            # What the runner writes is an answer for us, not for people.
            asked = replace(asked, preload=(*PRELOAD, *skill.preload), hear=None)
            if mode == "search":  # it may be done twice, so it must reach nothing
                asked = replace(asked, network="none")
            return answered(self.runtime.run(asked), call)

    def execute(self, skill: Skill, call: ScriptCall, context: CallContext) -> ScriptExecution | ToolError:
        """ToolError: the skill's environment cannot be built.

        Raises:
            ScriptRefusedError: one of seed 001's errors; nothing ran.
        """
        what = ready(skill, call, context.ref.task_id)
        with self._interpreter(skill, what, context) as interpreter:
            if isinstance(interpreter, ToolError):
                return interpreter
            asked = self._asked(
                skill, interpreter, call.timeout, context,
                script=what.script.path, language=what.script.script_type, arguments=call.args, stdin=what.stdin,
            )  # fmt: skip
            run = self.runtime.run(asked)
        return run if what.mode != "ndjson" else understood(run, lambda path: is_file_of(skill, path))

    def _interpreter(
        self, skill: Skill, what: ReadyScript, context: CallContext
    ) -> AbstractContextManager[Path | ToolError]:
        if what.interpreter is not None:
            return nullcontext(what.interpreter)
        return self.environments.leased(skill, what.source, context.cancelled, context.tell)

    def _asked(
        self,
        skill: Skill,
        interpreter: Path,
        timeout: float | None,
        context: CallContext,
        script: str | Path,
        **what: Any,
    ) -> RunRequest:
        return RunRequest(
            skill_name=skill.name,
            skill_root=skill.root,
            interpreter=interpreter,
            script=script,
            environment=script_environment(skill, interpreter, context.ref),
            timeout_s=timeout or skill.timeout or self.script_timeout_s,
            cancelled=context.cancelled,
            limits=_limits(skill, self.script_cpus),
            network=skill.network,
            preload=self.imports.of(skill, script if isinstance(script, str) else None),
            fresh_interpreter=skill.fresh_interpreter,
            runtime=skill.runtime,
            image=skill.image,
            keep=self._kept(context.ref),
            hear=context.hear,
            **what,
        )

    def _kept(self, ref: CallRef) -> Path:
        return self.artifacts_folder / ref.conversation_id / f"{ref.key}.{ref.attempt}"


def _limits(skill: Skill, cpus: float | None) -> Limits:
    names = ("memory_mb", "pids", "disk_mb", "cpu_seconds")
    return Limits(**{name: value for name in names if (value := getattr(skill, name)) is not None}, cpus=cpus)


def script_environment(skill: Skill, interpreter: Path, ref: CallRef) -> dict[str, str]:
    """A clean base, seed 001's names, and what the skill declares; nothing else of the worker's."""
    folder = str(interpreter.parent)
    granted = {name: os.environ[name] for name in skill.env if name in os.environ and not name.startswith(WITHHELD)}
    return granted | {
        "PATH": CLEAN_PATH if folder in CLEAN_PATH.split(":") else f"{folder}:{CLEAN_PATH}",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(skill.root),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SKILL_NAME": skill.name,
        "SKILL_BASE_DIR": str(skill.root),
        "SKILL_VERSION": skill.version,
        "SKILLKIT_VERSION": SKILLKIT_VERSION,
        "SKILLFLEET_VERSION": __version__,
        "SKILLFLEET_CALL_ID": ref.call_id,
    }
