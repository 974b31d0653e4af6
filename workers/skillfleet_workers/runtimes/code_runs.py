"""A model's code over data as a run of a Python script, and what its answer comes to (pure)."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..wire.execution import RESULT_EVENT, ScriptExecution
from ..wire.plain_json import MOST_DEPTH, deeper, strict
from .capture import with_line
from .handover import readable

RUNNER = Path(__file__).with_name("codemode_runner.py").read_text()
IMPORTS = ("json", "re", "math", "datetime", "collections", "itertools", "functools", "urllib.parse")
"""What the code may import wherever nothing else is said (seed 004)."""

PRELOAD = (
    "ast", "json", "re", "traceback", "typing", "datetime", "collections", "itertools", "functools", "urllib.parse",
)  # fmt: skip
"""What the runner imports, and what it allows, but for what is part of every interpreter."""

RESULT_LIMIT_BYTES = 1_048_576
NO_RESULT = "No result: assign to `result`, end with an expression, or print."
LOST_RESULT = "the result is lost: the code printed more than is kept; print less"
UNREADABLE = "the result cannot be read: {why}"

CodeMode = Literal["search", "execute"]


@dataclass(frozen=True, slots=True)
class Data:
    """What the code finds as a variable. `source` names where it is from; in its texts, `${NAME}` stands for one of
    the `variables` of the environment."""

    text: bytes
    source: str
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeRun:
    """`stdin` for RUNNER, and what its answer starts with."""

    code: str
    stdin: bytes
    token: str


def code_run(code: str, data: dict[str, Data], imports: Sequence[str] = IMPORTS) -> CodeRun:
    token = secrets.token_hex(16)
    told = {
        name: {"length": len(one.text), "source": one.source, "variables": one.variables}
        for name, one in data.items()
    }
    head = {"code": code, "imports": imports, "token": token, "limit": RESULT_LIMIT_BYTES, "data": told}
    return CodeRun(code, b"".join([json.dumps(head).encode(), b"\n", *(one.text for one in data.values())]), token)


def answered(run: ScriptExecution, asked: CodeRun) -> ScriptExecution:
    """`run` as one of the code itself: its script, its prints, and its result as an event."""
    printed, found, answer = run.stdout.rpartition(f"\n{asked.token}")
    fields: dict[str, Any] = {"script": readable(asked.code)}
    if found:
        fields |= {"stdout": printed, "stdout_bytes": run.stdout_bytes - len((found + answer).encode())}
        fields |= _read(answer)
    elif run.success and run.stdout_truncated:
        fields |= {"status": "failed", "error": LOST_RESULT}
    elif run.success and not run.stdout:
        fields["stderr"] = with_line(run.stderr, NO_RESULT)
    return run.model_copy(update=fields)


def _read(answer: str) -> dict[str, Any]:
    """The fields that it gives. Whoever broke out of the runner may have written it."""
    try:
        said = strict(answer)
        event = {"type": RESULT_EVENT, "value": said["value"]}
        if said["truncated"]:
            event |= {"value": str(said["value"]), "truncated": True, "bytes": int(said["bytes"])}
    except (ValueError, TypeError, KeyError, RecursionError) as wrong:
        return {"status": "failed", "error": UNREADABLE.format(why=wrong)}
    if deeper(event):
        return {"status": "failed", "error": UNREADABLE.format(why=f"it is nested more than {MOST_DEPTH} deep")}
    return {"events": (event,)}
