"""Scripts of skills from Python, on this machine alone: no redis, no model, no fleet."""

import threading
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from .environments.build import Environments
from .opened import Opened
from .runtimes.host import host_runtime
from .scratch import scratch_folder
from .script_calls import ScriptCall
from .script_result import ScriptExecutionResult
from .settings import WorkerSettings
from .skills.catalog import SkillCatalog
from .skills.errors import SkillNotFoundError
from .skills.models import Skill
from .skills.overrides import Overrides
from .skills.scripts import ScriptMetadata, scripts_of
from .tools import CallContext, Toolbox
from .wire.connection import default_state_dir
from .wire.contract import CallRef, ToolError
from .wire.execution import Isolation, ScriptExecution

DEFAULT_TIMEOUT_S = 30.0
DEFAULT_BUILD_TIMEOUT_S = 600.0


class EnvironmentUnavailableError(Exception):
    """The Python environment that the skill asks for could not be built; the message says why."""


class SkillManager(Opened):
    """Seed 001's entrance. Thread safe; `close` it, or use it as a context manager.

    `state_dir` holds the environments that are built, and under `artifacts` what scripts hand back: it stays there
    until somebody, or a worker with this state folder, removes it.
    """

    def __init__(
        self,
        skills_folder: Path | str,
        *,
        state_dir: Path | str | None = None,
        default_script_timeout: float = DEFAULT_TIMEOUT_S,
        min_isolation: Isolation = "process",
        script_cpus: float | None = None,
        build_timeout_s: float = DEFAULT_BUILD_TIMEOUT_S,
        environments_max_mb: int | None = None,
    ) -> None:
        state = Path(state_dir or default_state_dir()).expanduser().absolute()
        self._catalog = SkillCatalog(Path(skills_folder).expanduser())
        with ExitStack() as opened:
            runtime = host_runtime(opened.enter_context(scratch_folder(state / "work")), min_isolation)
            opened.callback(runtime.close)
            self._opened = opened.pop_all()
        self._toolbox = Toolbox(
            catalog=self._catalog,
            environments=Environments(
                state / "environments",
                build_timeout_s,
                max_bytes=environments_max_mb * 1_000_000 if environments_max_mb else None,
            ),
            runtime=runtime,
            script_timeout_s=default_script_timeout,
            script_cpus=script_cpus,
            artifacts_folder=state / "artifacts",
        )

    @classmethod
    def of(cls, settings: WorkerSettings) -> Self:
        """One that runs scripts as a worker with these settings does."""
        manager = cls(
            settings.skills_folder,
            state_dir=settings.state_dir,
            default_script_timeout=settings.script_timeout_s,
            min_isolation=settings.min_isolation,
            script_cpus=settings.script_cpus,
            build_timeout_s=settings.build_timeout_s,
            environments_max_mb=settings.environments_max_mb,
        )
        overrides = Overrides(settings.skills_config)
        manager._toolbox = replace(manager._toolbox, overrides=overrides.of, programs=settings.script_path)
        return manager

    def discover(self) -> None:
        """Read all skills now; else each is read when it is first asked for. Either way, changes count at once."""
        self._catalog.list()

    def list_skills(self) -> tuple[Skill, ...]:
        return self._catalog.list()

    def scripts(self, skill_name: str) -> tuple[ScriptMetadata, ...]:
        """Raises: SkillNotFoundError"""
        return scripts_of(self.skill(skill_name))

    def skill(self, name: str) -> Skill:
        """Raises: SkillNotFoundError"""
        found = self._catalog.find(name)
        if isinstance(found, ToolError):
            raise SkillNotFoundError(skill=name, reason=found.message.rstrip("."))
        return found

    def execute_skill_script(
        self,
        skill_name: str,
        script_name: str,
        arguments: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        *,
        args: Sequence[str] = (),
    ) -> ScriptExecutionResult:
        """`arguments` are the JSON object on the script's standard input, `args` its command line; `timeout` is in
        seconds (else the skill's, else the default).

        Raises:
            ScriptRefusedError: one of seed 001's eight errors, or a schema's refusal; nothing ran.
            EnvironmentUnavailableError: the skill's requirements cannot be installed; nothing ran.
            RuntimeUnavailableError: the script may not have run.
            ValueError: the timeout is not positive.
        """
        call = ScriptCall(script_name, arguments, tuple(args), timeout)
        return ScriptExecutionResult.of(self.run(self.skill(skill_name), call))

    def run(self, skill: Skill, call: ScriptCall) -> ScriptExecution:
        """As `execute_skill_script`, with all that is known of the run, and whichever skill is given."""
        if call.timeout is not None and call.timeout <= 0:
            raise ValueError(f"timeout must be more than 0 seconds: {call.timeout}")
        ref = CallRef(conversation_id=f"api-{uuid.uuid4().hex}", turn=0, index=0)
        run = self._toolbox.execute(skill, call, CallContext(ref, None, threading.Event()))
        if isinstance(run, ToolError):
            raise EnvironmentUnavailableError(run.message)
        return run
