"""One thin Celery task per TaskSpec: claim the attempt, run the tool, commit the result."""

import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, TypeVar

import redis
from celery import Celery
from celery.exceptions import Ignore
from pydantic import ValidationError

from .call_context import CallContext
from .call_files import CallFiles
from .heartbeat import Heartbeat
from .hooks import Hooks
from .progress import OutputTeller, Teller
from .quoted import filled
from .runtimes.base import RuntimeUnavailableError
from .terms import Terms, task_terms
from .tools import Toolbox
from .wire.blobs import Blobs
from .wire.calls import CallLedger, CallResult, Committed
from .wire.celery import send_call
from .wire.contract import (
    ACTIVATE,
    EXECUTE_CODE,
    GET_SKILL,
    LIST_SKILLS,
    READ_FILE,
    RUN_PYTHON,
    RUN_SCRIPT,
    SEARCH_SPEC,
    CallMessage,
    CallRef,
    Document,
    Result,
    SkillContent,
    TaskSpec,
    ToolError,
)
from .wire.execution import ScriptExecution
from .wire.kept import KeptRuns, kept_run
from .wire.keys import route_of
from .wire.shown import call_status, how_lost, output_tail, shown_to_model
from .wire.store import StoreError

COMMIT_PATIENCE_S = 60.0
"""A result outlives an outage of redis this long; after it the call counts as lost."""

RESULT_REPR_CHARS = 160
TAKES_FILES = (RUN_PYTHON, RUN_SCRIPT, EXECUTE_CODE)
"""The tasks whose scripts get what was handed in with their conversation."""

_FATE: dict[Committed, str] = {
    "recorded": "",
    "again": " (it is run again)",
    "duplicate": " (its result is not wanted: there is another)",
    "ended": " (its result is not wanted: nobody waits for it)",
}

log = logging.getLogger(__name__)

Tool = Callable[[Any, CallContext], Result]
Around = Callable[[TaskSpec[Any], CallMessage, CallContext, Callable[[], Result]], Result]
"""What is done before and after a call, and may keep it from being made."""
Elsewhere = Callable[[CallMessage], str | None]
"""The route of those who can run a call that we cannot."""

Written = TypeVar("Written")


@dataclass(frozen=True, slots=True)
class CallRunner:
    ledger: CallLedger
    heartbeat: Heartbeat
    worker: str
    terms: Terms = task_terms
    blobs: Blobs | None = None
    around: Around = lambda spec, message, context, call: call()
    elsewhere: Elsewhere = lambda _: None
    files: CallFiles | None = None
    kept: KeptRuns | None = None

    def run(self, spec: TaskSpec[Any], tool: Tool, message: CallMessage) -> dict[str, Any]:
        """The result as JSON, for the result backend.

        Raises:
            Ignore: another delivery has this attempt, the conversation has ended, or the call was handed back: leave
                no trace.
        """
        if message.references:
            message = self._resolved(message)
        terms = self.terms(spec, message)
        if self.ledger.claim(message.ref, self.worker, terms.effects) != "claimed":
            raise Ignore
        started = time.monotonic()
        queued_ms = max(0.0, time.time() - message.sent_at) * 1000
        with self.heartbeat.running(message.ref) as cancelled:
            with closing(OutputTeller(self.ledger, message.ref)) as hear:
                context = self._context(message, cancelled, hear)
                result = self._attempt(spec, tool, message, context)
            if self.heartbeat.ends_all and _was_ended(result):
                self._hand_back(message.ref)
                raise Ignore
            if isinstance(result, ScriptExecution):
                about = {
                    "worker": self.worker,
                    "attempt": message.ref.attempt,
                    "queued_ms": round(queued_ms, 3),
                }
                result = result.model_copy(update=about)
                if self.files and result.artifacts:
                    result = self.files.stored(result, message.ref.task_id)
            if lost := how_lost(result):
                self._hand_back(message.ref, lost)
            else:
                if self.kept and message.keeps:
                    self._keep(self.kept, message.ref, result)
                record = self._record(result, context, (time.monotonic() - started) * 1000)
                retries = terms.retries if _ran_and_failed(result) else 0
                self._commit(message.ref, record, retries)
        return result.model_dump(mode="json")

    def _resolved(self, message: CallMessage) -> CallMessage:
        """Raises: Ignore: a blob is gone; the call is sent again with it."""
        found = self.blobs.resolved(message) if self.blobs else None
        if found is None:
            log.warning("call %s: what it refers to is gone", message.ref.task_id)
            raise Ignore
        return found

    def _context(self, message: CallMessage, cancelled: Event, hear: OutputTeller) -> CallContext:
        return CallContext(
            ref=message.ref,
            skills=message.skills,
            cancelled=cancelled,
            tell=Teller(self.ledger, message.ref),
            hear=hear,
            snapshot=message.snapshot,
            digest=message.digest,
        )

    def _record(self, result: Result, context: CallContext, ms: float) -> CallResult:
        return CallResult(
            status=call_status(result),
            shown=shown_to_model(result, context.ref.key) + context.notes.added,
            tail=output_tail(result),
            worker=self.worker,
            runtime=result.runtime if isinstance(result, ScriptExecution) else "",
            ms=round(ms, 2),
            tools=result.scripts if isinstance(result, Document | SkillContent) else (),
            used=context.notes.used,
            governing=result.governing if isinstance(result, SkillContent) else None,
            artifacts=result.artifacts if isinstance(result, ScriptExecution) else (),
        )

    def _keep(self, kept: KeptRuns, ref: CallRef, result: Result) -> None:
        """Before the ledger knows of the result: calls that quote it are sent as soon as it does."""
        run = kept_run(result)
        _patiently(lambda: kept.keep(ref, run))

    def _commit(self, ref: CallRef, record: CallResult, retries: int) -> None:
        outcome = _patiently(lambda: self.ledger.commit(ref, record, retries))
        log.info("call %s: %s in %.1f ms%s", ref.task_id, record.status, record.ms, _FATE[outcome])

    def _attempt(self, spec: TaskSpec[Any], tool: Tool, message: CallMessage, context: CallContext) -> Result:
        try:
            request = spec.request.model_validate(message.request)
        except ValidationError as wrong:
            # Checked by the orchestrator too; a newer one may send what this worker does not know.
            return ToolError(error="malformed_arguments", message=str(wrong), fix="Call it with other arguments.")
        try:
            if message.quotes:
                arguments = self._quoted(message)
                if isinstance(arguments, ToolError):
                    return arguments
                request = request.model_copy(update={"arguments": arguments})
            if self.files and message.files and spec in TAKES_FILES:
                inputs = self.files.inputs(message.files)
                if isinstance(inputs, ToolError):
                    return inputs
                context = replace(context, inputs=inputs)
            return self.around(spec, message, context, lambda: tool(request, context))
        except (RuntimeUnavailableError, StoreError) as broken:
            log.error("call %s: %s", message.ref.task_id, broken)
            return ScriptExecution(status="lost", error=f"the worker could not run the script: {broken}")

    def _quoted(self, message: CallMessage) -> dict[str, Any] | ToolError:
        """The arguments with what they quote."""
        named = {quote.task_id for quote in message.quotes if quote.task_id}
        kept = self.kept.read(message.ref.conversation_id, named) if self.kept else {}
        return filled(message.request.get("arguments") or {}, message.quotes, kept)

    def _hand_back(self, ref: CallRef, lost: str = "") -> None:
        outcome = _patiently(lambda: self.ledger.hand_back(ref, lost))
        log.info("call %s: %s%s", ref.task_id, outcome, f", {lost}" if lost else "")


def _patiently(write: Callable[[], Written]) -> Written:
    """Raises: redis.RedisError: redis was away for too long."""
    give_up = time.monotonic() + COMMIT_PATIENCE_S
    while True:
        try:
            return write()
        except (redis.ConnectionError, redis.TimeoutError, redis.OutOfMemoryError):
            if time.monotonic() > give_up:
                raise
            time.sleep(0.5)


def _was_ended(result: Result) -> bool:
    """By us, before it was done: a run, or the build of its environment."""
    if isinstance(result, ScriptExecution):
        return result.status in ("cancelled", "lost")
    return isinstance(result, ToolError) and result.error == "cancelled"


def _ran_and_failed(result: Result) -> bool:
    return isinstance(result, ScriptExecution) and result.returncode is not None and not result.success


def tool_tasks(toolbox: Toolbox) -> tuple[Around, list[tuple[TaskSpec[Any], Tool]]]:
    """What is done around every call, and the tool of each task."""
    hooks = Hooks(toolbox.governing, toolbox.runs)
    return hooks.around, [
        (LIST_SKILLS, toolbox.list_skills),
        (GET_SKILL, toolbox.get_skill),
        (ACTIVATE, toolbox.activate),
        (READ_FILE, toolbox.read_file),
        (RUN_PYTHON, toolbox.run_python),
        (RUN_SCRIPT, toolbox.run_script),
        (SEARCH_SPEC, toolbox.search),
        (EXECUTE_CODE, toolbox.execute_code),
    ]


def register_tasks(app: Celery, toolbox: Toolbox, runner: CallRunner) -> None:
    around, tools = tool_tasks(toolbox)
    runner = replace(runner, around=around)
    for spec, tool in tools:
        _register(app, spec, tool, runner)


def _register(app: Celery, spec: TaskSpec[Any], tool: Tool, runner: CallRunner) -> None:
    # What Flower shows of a result: its repr is made for every call, so it is kept short.
    @app.task(name=spec.name, resultrepr_maxsize=RESULT_REPR_CHARS, bind=True)
    def task(self: Any, raw: dict[str, Any]) -> dict[str, Any]:
        message = CallMessage.model_validate(raw)
        if (route := runner.elsewhere(message)) is not None:
            log.info("call %s is for others, on the route %r", message.ref.task_id, route)
            send_call(app, spec.name, message, route)
            raise Ignore
        if not runner.heartbeat.takes_calls:
            send_call(app, spec.name, message, _came_by(app, self.request.delivery_info))
            raise Ignore
        return runner.run(spec, tool, message)


def _came_by(app: Celery, delivery: dict[str, Any] | None) -> str:
    """The route of the queue that a message was in."""
    return route_of(app.conf.task_default_queue, str((delivery or {}).get("routing_key", "")))
