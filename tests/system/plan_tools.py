"""A skill whose scripts are the tools of plans: they say what they are told to, or wait for a test."""

import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.conformance.living import NAME_LENGTH, named

SKILL = """---
name: {name}
description: Tools for tests.
metadata:
  skillfleet:
    effects: {effects}
    protocol: {{say: ndjson, draw: ndjson}}
---
"""
ECHO = """
import json, sys
asked = json.load(sys.stdin)
if asked.get("exit"):
    print("as it was told", file=sys.stderr)
    sys.exit(asked["exit"])
print(json.dumps(asked))
"""
SAY = """
import json, sys
asked = json.load(sys.stdin)["input"]
for line in asked["lines"]:
    print(line if isinstance(line, str) else json.dumps({"version": "0", **line}))
sys.exit(asked.get("exit", 0))
"""
DRAW = """
import json, os, sys
asked = json.load(sys.stdin)["input"]
with open(os.path.join(os.environ["SKILLFLEET_OUTPUT_DIR"], asked["file"]), "w") as file:
    file.write(asked["text"])
for event in (
    {"type": "asset", "assetId": "one", "kind": "text", "mediaType": "text/plain", "path": asked["file"]},
    {"type": "done", "ok": True},
):
    print(json.dumps({"version": "0", **event}))
"""
UPPER = """#!/bin/bash
set -eu
printf '{"upper": "%s"}\\n' "$(sed -E 's/.*: "([a-z]*)".*/\\1/' | tr 'a-z' 'A-Z')"
"""
HOLD = """
import ctypes, json, signal, sys
asked = json.load(sys.stdin)
signals = [signal.SIGUSR1, signal.SIGUSR2]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
ctypes.CDLL(None).prctl(15, asked["mark"].encode() + b":up", 0, 0, 0)
if signal.sigwait(signals) == signal.SIGUSR2:
    sys.exit(3)
print(json.dumps({"held": asked["mark"]}))
"""
SCRIPTS = {"echo.py": ECHO, "say.py": SAY, "draw.py": DRAW, "upper.sh": UPPER, "hold.py": HOLD}


def plan_skill(name: str, effects: str = "pure") -> dict[str, str]:
    """The files of a skill whose scripts are tools of plans."""
    scripts = {f"scripts/{file}": text for file, text in SCRIPTS.items()}
    return {"SKILL.md": SKILL.format(name=name, effects=effects), **scripts}


@dataclass(frozen=True)
class Holding:
    """A tool that waits until the test lets it go, or has it fail."""

    mark: str = field(default_factory=lambda: secrets.token_hex(NAME_LENGTH // 2))

    def pids(self) -> list[int]:
        return named(self.mark, "up")

    def let_go(self) -> None:
        self._signal(signal.SIGUSR1)

    def fail(self) -> None:
        self._signal(signal.SIGUSR2)

    def _signal(self, number: signal.Signals) -> None:
        (pid,) = self.pids()
        os.kill(pid, number)

    def tool(self, name: str, *needs: str, **more: Any) -> dict[str, Any]:
        return tool(name, "hold", {"mark": self.mark}, *needs, **more)


def tool(name: str, script: str, given: Mapping[str, Any], *needs: str, **more: Any) -> dict[str, Any]:
    """`retries`: quick ones; `skill`: another than the usual."""
    retries, skill = more.pop("retries", 0), more.pop("skill", "bench")
    file = next(file for file in SCRIPTS if file.startswith(script))
    return {
        "toolId": name,
        "toolPath": f"{skill}/scripts/{file}",
        "input": dict(given),
        "dependencies": list(needs),
        "retryPolicy": {"maxRetries": retries, "backoffMs": 10},
        "async": True,
    } | more


def plan(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"requestId": str(uuid4()), "parallel": True, "tools": list(tools)} | more


def says(*lines: Any, **more: Any) -> dict[str, Any]:
    """What the tool `say` is given."""
    return {"lines": list(lines), **more}


def patch(**state: Any) -> dict[str, Any]:
    return {"type": "state_patch", "patch": state}


DONE = {"type": "done", "ok": True}


def states(trace: Sequence[Any]) -> dict[str, str]:
    return {one.tool_id: str(one.state) for one in trace}
