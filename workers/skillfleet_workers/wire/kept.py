"""What the calls of a plan have brought, kept with their conversation: later calls quote it, its result tells it."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import redis
from pydantic import Field, JsonValue

from . import keys
from .contract import CallRef, Result, ToolError, WireModel
from .execution import ScriptExecution
from .lua import lua
from .tool_output import output_of, patches_of, told_events

KEPT_EVENTS_CHARS = 200_000
"""Of what one run told by the protocol the first events are kept, up to so many characters; its result has all."""

ERROR_CHARS = 2_000


class KeptRun(WireModel):
    """One attempt at a call. `output`: what it has brought; `patches`: those that its script sent, or fewer that come
    to the same; `events`: the first that it told by the NDJSON protocol; `error`: why it failed, empty: it did not.
    `ms`: how long the script ran."""

    status: str
    output: dict[str, JsonValue] = Field(default_factory=dict)
    patches: tuple[dict[str, Any], ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    returncode: int | None = None
    error: str = ""
    ms: float = 0.0


def kept_run(result: Result) -> KeptRun:
    if isinstance(result, ToolError):
        return KeptRun(status="tool_error", error=f"{result.message} {result.fix}".strip())
    if not isinstance(result, ScriptExecution):
        return KeptRun(status="succeeded")
    return KeptRun(
        status=result.status,
        output=output_of(result) if result.success else {},
        patches=patches_of(result),
        events=tuple(_first(told_events(result))),
        returncode=result.returncode,
        error="" if result.success else _why(result)[:ERROR_CHARS],
        ms=result.execution_time_ms,
    )


class KeptRuns:
    """Raises redis.RedisError when redis cannot be reached."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._keep = client.register_script(lua(__package__, "keep"))

    def keep(self, ref: CallRef, run: KeptRun) -> None:
        """Nothing, where the conversation has ended. To do it twice is harmless."""
        name = ref.conversation_id
        kept = run.model_dump_json(exclude_defaults=True)
        self._keep(keys=[keys.state(name), keys.kept(name)], args=[ref.task_id, kept])

    def read(self, conversation_id: str, task_ids: Iterable[str]) -> dict[str, KeptRun]:
        """Those that are there, by the task ids of their attempts."""
        wanted = list(task_ids)
        found = self._client.hmget(keys.kept(conversation_id), wanted) if wanted else []
        pairs = zip(wanted, found, strict=True)
        return {task_id: KeptRun.model_validate_json(text) for task_id, text in pairs if text is not None}


def _first(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    left = KEPT_EVENTS_CHARS
    for number, event in enumerate(events):
        left -= len(json.dumps(event, ensure_ascii=False))
        if left < 0:
            yield {"version": "0", "type": "truncated", "after": number}
            return
        yield event


def _why(run: ScriptExecution) -> str:
    if run.timed_out:
        return f"it took longer than {run.timeout:g} s"
    wrote = run.stderr.strip() or run.stdout.strip()
    ended = f"exit code {run.returncode}" if run.status == "failed" else run.status
    return run.error or (f"{ended}: {wrote[-ERROR_CHARS // 2 :]}" if wrote else ended)
