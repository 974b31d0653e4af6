"""What a scripted model says in these tests, and the scripts that it has run."""

import json
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from tests.conformance.living import NAME_LENGTH, named

SKILL = """---
name: lab
description: A bench for scripts.
---
Write Python.
"""

Call = dict[str, Any]
Turn = str | list[Call]
"""What the model says: its calls, or its last words."""


def call(tool: str, alias: str | None = None, **arguments: Any) -> Call:
    named = {"as": alias} if alias else {}
    return {"tool": tool, "arguments": arguments, **named}


def python(script: str, alias: str | None = None, **more: Any) -> Call:
    return call("run_python_script", alias, skill_name="lab", script=script, **more)


@dataclass(frozen=True)
class Held:
    """A script that says so and then waits until it is let go. It is known by its process's name, and told by a
    signal: a sandbox shares no folder with its host."""

    mark: str = field(default_factory=lambda: secrets.token_hex(NAME_LENGTH // 2))

    @property
    def script(self) -> str:
        return f"""
import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("holding", flush=True)
ctypes.CDLL(None).prctl(15, b"{self.mark}:up", 0, 0, 0)
signal.sigwait([signal.SIGUSR1])
print("let go")
"""

    def pids(self) -> list[int]:
        """Of all that run it, as the host sees them."""
        return named(self.mark, "up")

    def runs(self) -> bool:
        return bool(self.pids())

    def process(self) -> psutil.Process:
        """Of the one that runs it, alive."""
        (pid,) = self.pids()
        process = psutil.Process(pid)
        assert process.is_running()
        return process

    def let_go(self) -> None:
        for pid in self.pids():
            with suppress(ProcessLookupError):  # it was let go before
                os.kill(pid, signal.SIGUSR1)


def holding(held: Held, alias: str | None = None) -> Call:
    """Far longer than any test waits: only what the test does ends it."""
    return python(held.script, alias, timeout=900)


def replies(turns: Sequence[Turn]) -> dict[str, Any]:
    return {"replies": [{"text": turn} if isinstance(turn, str) else {"calls": turn} for turn in turns]}


def write_script(folder: Path, turns: Sequence[Turn], children: Mapping[str, Sequence[Turn]] | None = None) -> Path:
    path = folder / f"script-{secrets.token_hex(4)}.json"
    of_children = {skill: replies(said)["replies"] for skill, said in (children or {}).items()}
    path.write_text(json.dumps(replies(turns) | ({"children": of_children} if children else {})))
    return path
