"""Whatever runs in a skill: its scripts, a model's code, and the command lines of its author."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .call_context import CallContext
from .code_calls import code_call
from .environments.build import Environments
from .given import files_of, limits_of, script_environment, script_path
from .runtimes.base import RunRequest, Runtime, RuntimeUnavailableError
from .runtimes.code_runs import PRELOAD, RUNNER, CodeMode, answered
from .runtimes.ndjson import understood
from .schemas import fitting_result
from .script_calls import CLEAN_PATH, ReadyScript, ScriptCall, is_file_of, ready
from .skills.imports import SkillImports
from .skills.languages import INTERPRETERS
from .skills.models import Skill
from .skills.override_file import Override
from .wire.contract import CallRef, ToolError
from .wire.execution import ScriptExecution


@dataclass(frozen=True, slots=True)
class SkillRuns:
    """A ToolError: the skill's environment cannot be built, or the call was cancelled meanwhile.

    What raises a ScriptRefusedError has run nothing.
    """

    environments: Environments
    runtime: Runtime
    script_timeout_s: float
    artifacts_folder: Path
    imports: SkillImports
    script_cpus: float | None
    overrides: Callable[[str], Override]
    programs: tuple[Path, ...] = ()

    def script(self, skill: Skill, call: ScriptCall, context: CallContext) -> ScriptExecution | ToolError:
        """Raises: ScriptRefusedError"""
        what = ready(skill, call, context.ref.task_id, script_path(self.programs))
        with self._interpreter(skill, what, context) as interpreter:
            if isinstance(interpreter, ToolError):
                return interpreter
            asked = self._asked(
                skill, interpreter, call.timeout, context,
                script=what.script.path, language=what.script.script_type, arguments=call.args, stdin=what.stdin,
            )  # fmt: skip
            run = self.runtime.run(asked)
        if what.mode == "ndjson":
            return understood(run, lambda path: is_file_of(skill, path))
        return fitting_result(skill, run) if what.governed else run

    def python(
        self, skill: Skill, code: str, timeout: float | None, context: CallContext
    ) -> ScriptExecution | ToolError:
        """Raises: ScriptRefusedError"""
        with self.environments.leased(skill, code, context.cancelled, context.tell) as interpreter:
            if isinstance(interpreter, ToolError):
                return interpreter
            return self.runtime.run(self._asked(skill, interpreter, timeout, context, script=code))

    def code(
        self, skill: Skill, code: str, mode: CodeMode, timeout: float | None, context: CallContext
    ) -> ScriptExecution | ToolError:
        """Raises: ScriptRefusedError"""
        call = code_call(skill, code, mode, self.overrides(skill.name).env)
        if isinstance(call, ToolError):
            return call
        with self.environments.leased(skill, None, context.cancelled, context.tell) as interpreter:
            if isinstance(interpreter, ToolError):
                return interpreter
            asked = self._asked(skill, interpreter, timeout, context, script=RUNNER, stdin=call.stdin)
            # What the runner writes is an answer for us, not for people.
            asked = replace(asked, preload=(*PRELOAD, *skill.preload), hear=None)
            if mode == "search":  # it may be done twice, so it must reach nothing
                asked = replace(asked, network="none", inputs={})
            return answered(self.runtime.run(asked), call)

    def command(
        self,
        skill: Skill,
        line: str,
        timeout_s: float,
        context: CallContext,
        *,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
    ) -> ScriptExecution:
        """A command line that the skill's author wrote, run as a shell script of the skill is.

        Raises:
            ScriptRefusedError
            RuntimeUnavailableError: also where the run was lost under it, or there is no bash.
        """
        bash = shutil.which(INTERPRETERS["shell"], path=CLEAN_PATH)
        if bash is None:
            raise RuntimeUnavailableError(f"there is no {INTERPRETERS['shell']} in {CLEAN_PATH}")
        asked = self._asked(skill, Path(bash), timeout_s, context, script=line, language="shell", stdin=stdin)
        environment = {**asked.environment, **(variables or {})}
        run = self.runtime.run(replace(asked, environment=environment, keep=None, hear=None, inputs={}))
        if run.status == "lost":
            raise RuntimeUnavailableError(run.error or "a command was lost")
        return run

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
        override = self.overrides(skill.name)
        return RunRequest(
            skill_name=skill.name,
            skill_root=skill.root,
            interpreter=interpreter,
            script=script,
            environment=script_environment(skill, interpreter, context.ref, override, self.programs),
            timeout_s=timeout or skill.timeout or self.script_timeout_s,
            cancelled=context.cancelled,
            limits=limits_of(skill, self.script_cpus),
            network=skill.network,
            preload=self.imports.of(skill, script if isinstance(script, str) else None),
            fresh_interpreter=skill.fresh_interpreter,
            runtime=skill.runtime,
            image=skill.image,
            keep=self._kept(context.ref),
            hear=context.hear,
            files=files_of(skill, override),
            programs=self.programs,
            inputs=context.inputs,
            **what,
        )

    def _kept(self, ref: CallRef) -> Path:
        return self.artifacts_folder / ref.conversation_id / f"{ref.key}.{ref.attempt}"
