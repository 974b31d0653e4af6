"""One run by a spare of a pool: handed over, attended, told."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ...wire.artifacts import collect_artifacts
from ...wire.execution import TIMEOUT_RETURNCODE, Artifact, ScriptExecution
from ..base import RunRequest, RuntimeUnavailableError, work_variables
from ..capture import Attendant, Capture, Stream, SupervisorSilentError, Verdict, with_line
from ..handover import UnrunnableError, encoded, framed, hand_over, inputs_at, pipe
from ..inside.config import INPUTS, OUTPUT, WORK
from ..outcome import outcome
from .channel import Lease, Warm
from .pool import Pool
from .recipe import Recipe

START_ALLOWANCE_S = 5.0
"""An interpreter's start takes none of its run's timeout; one that takes so much longer than that ends the run."""

SCRIPT_FILE = f"{WORK}/script.py"
OOM = "killed for memory: the run needed more than its {memory_mb} MB"


def last_moment(request: RunRequest) -> float:
    """Until which a run that comes now waits for its interpreter, on the monotonic clock. Its timeout begins only
    after that."""
    return time.monotonic() + request.timeout_s + START_ALLOWANCE_S


def run_leased(
    request: RunRequest, recipe: Recipe, pool: Pool, facts: dict[str, Any], give_up: float | None = None
) -> ScriptExecution:
    """`facts`: what its ScriptExecution says whatever comes. `give_up`: None: as `last_moment` has it.

    Raises:
        RuntimeUnavailableError: no sandbox, or one that broke.
    """
    with ExitStack() as opened:
        try:
            placed = dict(_placed(request, opened))
            frame = _frame(request, tuple(placed))
        except UnrunnableError as wrong:
            return ScriptExecution(status="failed", error=str(wrong), **facts)
        except OSError as wrong:
            raise RuntimeUnavailableError(f"cannot hand over a run: {wrong}") from wrong
        if request.cancelled.is_set():
            return ScriptExecution(status="cancelled", error="cancelled", **facts)
        taken = pool.take(recipe, last_moment(request) if give_up is None else give_up, request.cancelled)
        if isinstance(taken, str):
            return ScriptExecution(**facts, **_unstarted(taken, request.timeout_s))
        interpreter, lease = taken
        opened.callback(lease.close)
        try:
            capture = _hand_over(request, frame, list(placed.values()), lease, opened)
            fields, artifacts, broken = _attended(request, capture, interpreter, lease)
        except OSError as wrong:
            pool.discard(interpreter, replace=True)
            raise RuntimeUnavailableError(f"a sandbox broke under its run: {wrong}") from wrong
        except BaseException:
            pool.discard(interpreter)
            raise
        if broken:
            pool.discard(interpreter, replace=True)
        else:
            pool.give_back(interpreter)
        if capture.lost and capture.script_pid is None:
            raise RuntimeUnavailableError("the sandbox died before it had started the script")
        return ScriptExecution(**facts, **fields, artifacts=artifacts)


def _unstarted(verdict: Verdict, timeout_s: float) -> dict[str, Any]:
    if verdict == "cancelled":
        return {"status": verdict, "error": verdict}
    line = f"Timeout: nothing ran: no interpreter was up within {timeout_s + START_ALLOWANCE_S:g} s"
    return {
        "status": verdict,
        "timed_out": True,
        "returncode": TIMEOUT_RETURNCODE,
        "stderr": with_line("", line),
        "error": line,
    }


def _attended(
    request: RunRequest, capture: Capture, interpreter: Warm, lease: Lease
) -> tuple[dict[str, Any], tuple[Artifact, ...], bool]:
    """How it went, what it left, and whether the interpreter is not to be used again."""
    before = interpreter.oom_kills()
    silent = False
    try:
        attendant = Attendant(lease.control, capture, interpreter.kill_grace_s, lease.hasten, request.hear)
        attendant.attend(request.timeout_s, request.cancelled)
    except SupervisorSilentError:
        silent = True
        interpreter.end()
        if capture.ended:
            capture.leftover_killed = 1  # at least
        else:
            capture.hear(f"ended {signal.SIGKILL:d} 0 0 1")
    starved = not silent and interpreter.oom_kills() > before
    fields = outcome(capture, request.timeout_s, request.limits.cpu_seconds)
    if starved:
        fields |= {"status": "oom_killed", "error": OOM.format(memory_mb=request.limits.memory_mb)}
    artifacts: tuple[Artifact, ...] = ()
    if request.keep and not (silent or capture.lost):  # else something may still be at it
        artifacts = collect_artifacts(Path(f"/proc/self/fd/{lease.work}", OUTPUT), request.keep)
    return fields, artifacts, starved or silent or capture.lost


def _hand_over(request: RunRequest, frame: bytes, placed: list[int], lease: Lease, opened: ExitStack) -> Capture:
    with ExitStack() as theirs:
        stdin = _memory_file(request.stdin, theirs) if request.stdin else _nothing(theirs)
        (out, far_out), (err, far_err) = (pipe(opened, theirs) for _ in range(2))
        capture = Capture(Stream(out), Stream(err))
        hand_over(lease.control, frame, [stdin, far_out, far_err, *placed])
    return capture


def _placed(request: RunRequest, until: ExitStack) -> Iterator[tuple[str, int]]:
    """What is to lie in the work folder: its path there, and a descriptor to read it from.

    Raises:
        UnrunnableError: the script's source has no encoding, its inputs have no place.
        OSError
    """
    if isinstance(request.script, str):
        yield SCRIPT_FILE, _memory_file(encoded(request.script), until)
    for name, content in request.files.items():
        yield f"{WORK}/{name}", _memory_file(content, until)
    for path, file in inputs_at(request, f"{WORK}/{INPUTS}").items():
        yield path, until.enter_context(file.open("rb")).fileno()


def _frame(request: RunRequest, placed: Sequence[str]) -> bytes:
    script = SCRIPT_FILE if isinstance(request.script, str) else str(request.skill_root / request.script)
    arguments = [str(request.interpreter), script, *request.arguments]
    inputs = f"{WORK}/{INPUTS}" if request.inputs else ""
    environment = {**request.environment, **work_variables(WORK, f"{WORK}/{OUTPUT}", request.files, inputs)}
    return framed(str(request.skill_root), arguments, environment, placed)


def _memory_file(content: bytes, until: ExitStack) -> int:
    """A file that nobody else sees and that needs no disk, at its beginning and for reading alone."""
    descriptor = os.memfd_create("skillfleet", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        readable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    until.callback(os.close, readable)
    return readable


def _nothing(until: ExitStack) -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    until.callback(os.close, descriptor)
    return descriptor
