"""Code mode from Python, as seed 004 has it: two tools, `search` and `execute`, whatever the size of the API."""

import inspect
import io
import json
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ..wire.contract import EXECUTE_CODE, SEARCH_SPEC, TaskSpec
from ..wire.execution import RESULT_EVENT, ScriptExecution
from .base import Network, RunRequest, Runtime
from .code_runs import IMPORTS, PRELOAD, RUNNER, Data, answered, code_run
from .codemode_runner import evaluate, safe_builtins, told
from .embedded import CLEAN_ENVIRONMENT, DEFAULT_TIMEOUT_S, Embedded
from .shapes import names, shape

SandboxMode = Literal["subprocess", "inprocess"]


class CodeModeRuntime(Embedded):
    """Runs a model's code over `spec`, any data for discovery, and `ctx`, what it needs to act. Thread safe; `close`
    it, or use it as a context manager.

    `subprocess`: every run is a process of its own on the runtime, and both are JSON. `inprocess`: they may be any
    objects, such as clients, but nothing holds the code and no timeout ends it; the names that it lacks protect from
    mistakes alone. It is for code that you would run yourself, never for a model's on a machine that matters.
    """

    def __init__(
        self,
        spec: Any,
        ctx: Mapping[str, Any] | None = None,
        *,
        mode: SandboxMode = "subprocess",
        runtime: Runtime | None = None,
        folder: Path | str | None = None,
        interpreter: Path | None = None,
        imports: Sequence[str] = IMPORTS,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        network: Network = "none",
    ) -> None:
        """Raises: TypeError: in a subprocess, `spec` or `ctx` is no JSON."""
        self._variables = {"spec": spec, "ctx": dict(ctx or {})}
        self._texts = {} if mode == "inprocess" else {n: _data(n, value) for n, value in self._variables.items()}
        super().__init__(runtime, folder)
        self._inprocess = mode == "inprocess"
        self._interpreter = interpreter or Path(sys.executable)
        self._imports, self._timeout_s, self._network = tuple(imports), timeout_s, network

    def search(self, code: str, *, timeout_s: float | None = None) -> ScriptExecution:
        """With `spec` alone, and no network. The outcome's `result` is what the code came to."""
        return self._evaluated(code, ("spec",), timeout_s, "none")

    def run(self, code: str, *, timeout_s: float | None = None) -> ScriptExecution:
        """With `spec` and `ctx`. The outcome's `result` is what the code came to."""
        return self._evaluated(code, ("spec", "ctx"), timeout_s, self._network)

    execute = run

    def get_tool_definitions(self) -> list[dict[str, Any]]:
        """`search` and `execute` in the OpenAI format, with the shape of `spec` and the keys of `ctx`."""
        spec = f"spec is {shape(self._variables['spec'])}"
        ctx = f"ctx has {names(self._variables['ctx'])}"
        return [_definition(SEARCH_SPEC, f"{spec}."), _definition(EXECUTE_CODE, f"{spec}; {ctx}.")]

    def _evaluated(
        self, code: str, given: tuple[str, ...], timeout_s: float | None, network: Network
    ) -> ScriptExecution:
        if self._inprocess:
            return _in_process(code, {name: self._variables[name] for name in given}, self._imports)
        asked = code_run(code, {name: self._texts[name] for name in given}, self._imports)
        request = RunRequest(
            skill_name="",
            skill_root=self.folder,
            interpreter=self._interpreter,
            script=RUNNER,
            environment=CLEAN_ENVIRONMENT | {"PYTHONPATH": str(self.folder)},
            timeout_s=timeout_s or self._timeout_s,
            stdin=asked.stdin,
            network=network,
            preload=PRELOAD,
        )
        return answered(self._run(request), asked)


def _data(name: str, value: Any) -> Data:
    try:
        return Data(json.dumps(value, allow_nan=False).encode(), name)
    except (TypeError, ValueError, RecursionError) as wrong:
        raise TypeError(f"{name} is no JSON: {wrong}; mode='inprocess' takes any object") from wrong


def _definition(tool: TaskSpec[Any], hint: str) -> dict[str, Any]:
    description = " ".join(inspect.cleandoc(tool.request.__doc__ or "").split())
    code = {"type": "string", "description": tool.request.model_fields["code"].description}
    parameters = {"type": "object", "properties": {"code": code}, "required": ["code"]}
    about = {"name": tool.tool, "description": f"{description} Here, {hint}", "parameters": parameters}
    return {"type": "function", "function": about}


def _in_process(code: str, variables: Mapping[str, Any], imports: Sequence[str]) -> ScriptExecution:
    printed, began = io.StringIO(), time.monotonic()
    fields: dict[str, Any] = {"status": "succeeded", "returncode": 0}
    try:
        found = evaluate(code, variables, {**safe_builtins(imports), "print": partial(print, file=printed)})
        fields["events"] = tuple({"type": RESULT_EVENT, "value": value} for value in found)
    except SystemExit as ended:
        if ended.code:
            fields = {"status": "failed", "returncode": 1, "stderr": f"{ended.code}\n"}
    except Exception as wrong:  # noqa: BLE001  the code may raise anything
        fields = {"status": "failed", "returncode": 1, "stderr": told(wrong, code)}
    ms = (time.monotonic() - began) * 1000
    return ScriptExecution(
        **fields, script=code, stdout=printed.getvalue(), execution_time_ms=ms, runtime="inprocess", isolation="none"
    )
