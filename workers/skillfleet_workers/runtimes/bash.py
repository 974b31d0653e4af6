"""Commands from Python, as seed 004 has them."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from ..wire.execution import ScriptExecution
from .base import Network, RunRequest, Runtime, RuntimeUnavailableError
from .embedded import CLEAN_ENVIRONMENT, DEFAULT_TIMEOUT_S, Embedded


class BashRuntime(Embedded):
    """Runs bash scripts of one line or many. Thread safe; `close` it, or use it as a context manager.

    `folder` is their working directory, read-only to them where the host can see to it; `env` is added to a clean
    environment, for this runtime or for one run.
    """

    def __init__(
        self,
        folder: Path | str | None = None,
        *,
        runtime: Runtime | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        env: Mapping[str, str] | None = None,
        network: Network = "none",
    ) -> None:
        super().__init__(runtime, folder)
        self._timeout_s, self._env, self._network = timeout_s, dict(env or {}), network

    def run(
        self,
        command: str,
        *,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> ScriptExecution:
        """Raises: RuntimeUnavailableError: there is no bash, or the runtime could not do its part."""
        bash = shutil.which("bash", path=CLEAN_ENVIRONMENT["PATH"])
        if bash is None:
            raise RuntimeUnavailableError(f"there is no bash in {CLEAN_ENVIRONMENT['PATH']}")
        return self._run(
            RunRequest(
                skill_name="",
                skill_root=self.folder,
                interpreter=Path(bash),
                script=command,
                environment=CLEAN_ENVIRONMENT | self._env | dict(env or {}),
                timeout_s=timeout_s or self._timeout_s,
                stdin=stdin,
                language="shell",
                network=self._network,
            )
        )

    execute = run
