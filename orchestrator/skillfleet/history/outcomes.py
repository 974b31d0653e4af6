"""What a call was given and has come to, as an execution keeps it (pure)."""

from typing import Any

from skillfleet_workers.wire.contract import EXECUTE_CODE, RUN_PYTHON, RUN_SCRIPT, SEARCH_SPEC

from .records import ExecutionStatus
from .texts import json_object

EXECUTING = frozenset(spec.tool for spec in (RUN_PYTHON, RUN_SCRIPT, SEARCH_SPEC, EXECUTE_CODE))
"""The tools that run a skill's script, or code with it."""

MOST_ERROR_CHARS = 2000
_STATUSES = {"succeeded": ExecutionStatus.SUCCESS, "timed_out": ExecutionStatus.TIMEOUT}


def status_of(status: str) -> ExecutionStatus:
    """Of a call that has ended."""
    return _STATUSES.get(status, ExecutionStatus.FAILED)


def parameters_of(tool: str, arguments: str) -> dict[str, Any]:
    """Of a script, what it reads from its standard input, or else its command line; of code, all but the skill."""
    given = json_object(arguments) or {}
    if tool != RUN_SCRIPT.tool:
        return {name: value for name, value in given.items() if name != "skill_name"}
    if isinstance(read := given.get("arguments"), dict):
        return read
    return {"args": given["args"]} if given.get("args") else {}


def result_of(shown: str) -> dict[str, Any]:
    """Of a call that has succeeded: what its code came to, or its script wrote where that is a JSON object; else
    the text."""
    run = json_object(shown)
    if run is None:
        return {"output": shown}
    if "result" in run:
        return run["result"] if isinstance(run["result"], dict) else {"result": run["result"]}
    written = str(run.get("stdout", ""))
    return json_object(written) or {"stdout": written}


def error_of(status: str, tail: str, shown: str = "") -> str:
    """Of one that has not. `shown`: to the model, where that is known."""
    run = json_object(shown) or {}
    told = run.get("message") or run.get("error") or _last_words(run) or tail
    text = f"{status}: {told}" if told else status
    return text if len(text) <= MOST_ERROR_CHARS else f"{text[: MOST_ERROR_CHARS - 1]}…"


def _last_words(run: dict[str, Any]) -> str:
    written = str(run.get("stderr") or "").strip() or str(run.get("stdout") or "").strip()
    code = run.get("returncode")
    return f"exit code {code}: {written[-1000:]}" if code else written[-1000:]
