"""What a runtime with a seed's own Python API stands on: a Runtime and a folder, given or of its own."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from ..opened import Opened
from ..wire.execution import ScriptExecution
from .base import RunRequest, Runtime
from .process import ProcessRuntime

CLEAN_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
DEFAULT_TIMEOUT_S = 30.0


class Embedded(Opened):
    """`runtime` None: plain processes, which hold accidents only, ended by `close`. `folder` None: an empty
    one; else whoever runs the scripts must be able to enter it."""

    def __init__(self, runtime: Runtime | None, folder: Path | str | None) -> None:
        with ExitStack() as opened:
            if runtime is None:
                runtime = ProcessRuntime(Path(opened.enter_context(tempfile.TemporaryDirectory())))
                opened.callback(runtime.close)
            if folder is None:
                folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
                folder.chmod(0o755)  # a sandbox is another user's
            self.folder = Path(folder).resolve()
            self._runtime = runtime
            self._opened = opened.pop_all()

    def _run(self, request: RunRequest) -> ScriptExecution:
        return self._runtime.run(request)
