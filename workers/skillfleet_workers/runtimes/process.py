"""Plain processes: every run is a fresh interpreter, started, watched and killed by a resident supervisor."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..wire.artifacts import collect_artifacts
from ..wire.execution import Isolation, ScriptExecution
from .base import RunRequest, RuntimeUnavailableError, work_variables
from .capture import Attendant, Capture, Stream, SupervisorSilentError
from .handover import UnrunnableError, described, encoded, framed, hand_over, inputs_at, pipe
from .inside.config import INPUTS, OUTPUT
from .isolation import kernel_locks
from .locks import locks_for
from .outcome import outcome
from .resident import ANSWER_TIMEOUT_S, Init, Resident
from .starting import LOCKED

SCRIPT_FILE = "script.py"
STDIN_FILE = "stdin"
LINUX = sys.platform == "linux"


class ProcessRuntime:
    """Isolation against accidents: what locks the kernel has (`locks.py`), but no namespaces. Thread safe.

    Every run has a folder of its own below `scratch`, gone after it.
    """

    name = "process"
    isolation: Isolation = "process"

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._resident = Resident()

    @property
    def resident_pid(self) -> int | None:
        """The supervisor's process id; None before the first run."""
        return self._resident.pid

    def close(self) -> None:
        self._resident.close()

    def run(self, request: RunRequest) -> ScriptExecution:
        facts = described(request) | {"runtime": self.name, "isolation": self.isolation}
        try:
            with _work_folder(self._scratch) as work:
                try:
                    frame = _frame(request, work)
                except UnrunnableError as wrong:
                    return ScriptExecution(status="failed", error=str(wrong), **facts)
                fields = self._run(request, frame, work)
                artifacts = collect_artifacts(work / OUTPUT, request.keep) if request.keep else ()
                return ScriptExecution(**facts, **fields, artifacts=artifacts)
        except OSError as wrong:
            raise RuntimeUnavailableError(f"cannot hand over a run: {wrong}") from wrong

    def _run(self, request: RunRequest, frame: bytes, work: Path) -> dict[str, Any]:
        with ExitStack() as opened:
            init, capture = self._start(_stdin(request, work, opened), frame, opened)
            try:
                Attendant(init.control, capture, hear=request.hear).attend(request.timeout_s, request.cancelled)
            except SupervisorSilentError as silent:
                self._abandon(init)
                raise RuntimeUnavailableError(str(silent)) from silent
            if capture.lost:
                if capture.script_pid is None:
                    raise RuntimeUnavailableError("the supervisor died before it had started the script")
                # Its init is dead, and perhaps the resident with it, so that nobody else would.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(capture.script_pid, signal.SIGKILL)
            return outcome(capture, request.timeout_s, request.limits.cpu_seconds)

    def _start(self, stdin: int, frame: bytes, opened: ExitStack) -> tuple[Init, Capture]:
        """Have an init's child become the script. What stays open is the caller's, through `opened`."""
        with ExitStack() as theirs:
            (out, far_out), (err, far_err) = (pipe(opened, theirs) for _ in range(2))
            capture = Capture(Stream(out), Stream(err))
            init = self._resident.take()
            opened.callback(self._part, init, capture)
            init.control.settimeout(ANSWER_TIMEOUT_S)
            hand_over(init.control, frame, [stdin, far_out, far_err])
        return init, capture

    def _part(self, init: Init, capture: Capture) -> None:
        if capture.clean:
            self._resident.give_back(init)
        else:
            init.control.close()

    def _abandon(self, init: Init) -> None:
        """End a run whose init does not answer. Once it is dead the resident cleans up and closes control."""
        # Not yet reaped, or control would be closed: the id is still that of the init.
        os.kill(init.pid, signal.SIGKILL)
        init.control.settimeout(ANSWER_TIMEOUT_S)
        try:
            while init.control.recv(4096):
                pass
        except OSError:
            self._resident.discard()


@contextmanager
def _work_folder(scratch: Path) -> Iterator[Path]:
    work = Path(tempfile.mkdtemp(prefix="run-", dir=scratch)).absolute()
    try:
        (work / OUTPUT).mkdir()
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _stdin(request: RunRequest, work: Path, opened: ExitStack) -> int:
    """A file and not a pipe: nobody has to feed it, and it ends by itself."""
    path = Path(os.devnull)
    if request.stdin:
        path = work / STDIN_FILE
        path.write_bytes(request.stdin)
    return opened.enter_context(path.open("rb")).fileno()


def _placed(request: RunRequest, work: Path) -> Path:
    """The absolute path of the script's file, written first where source was given.

    Raises:
        UnrunnableError: the source has no encoding.
    """
    if isinstance(request.script, Path):
        return (request.skill_root / request.script).absolute()
    path = work / SCRIPT_FILE
    path.write_bytes(encoded(request.script))
    return path


def _frame(request: RunRequest, work: Path) -> bytes:
    for name, content in request.files.items():
        (work / name).write_bytes(content)
    inputs = str(work / INPUTS) if request.inputs else ""
    for path, file in inputs_at(request, inputs).items():
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    program = [str(request.interpreter), str(_placed(request, work)), *request.arguments]
    arguments = (
        [os.fsdecode(LOCKED), locks_for(request, work, kernel_locks()).encoded(), *program] if LINUX else program
    )
    told = work_variables(str(work), str(work / OUTPUT), request.files, inputs)
    environment = {**request.environment, **told}
    return framed(str(request.skill_root), arguments, environment)
