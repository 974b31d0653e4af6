"""What a scripted model says in these tests, and the scripts that it has run."""

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def holding(marker: Path, gate: Path | None = None, alias: str | None = None) -> Call:
    """Runs `held`, and far longer than any test waits: only what the test does ends it."""
    return python(held(marker, gate), alias, timeout=900)


def replies(turns: Sequence[Turn]) -> dict[str, Any]:
    return {"replies": [{"text": turn} if isinstance(turn, str) else {"calls": turn} for turn in turns]}


def write_script(folder: Path, turns: Sequence[Turn]) -> Path:
    path = folder / f"script-{secrets.token_hex(4)}.json"
    path.write_text(json.dumps(replies(turns)))
    return path


def meeting(folder: Path, of: int, wait_s: float = 40) -> str:
    """A script that ends well only when so many run at once: each waits until it sees them all."""
    folder.mkdir(exist_ok=True)
    return f"""
import os, pathlib, sys, time
folder = pathlib.Path({str(folder)!r})
(folder / os.environ["SKILLFLEET_CALL_ID"]).touch()
give_up = time.monotonic() + {wait_s}
while len(list(folder.iterdir())) < {of}:
    if time.monotonic() > give_up:
        sys.exit("the others did not come")
    time.sleep(0.01)
print("met")
"""


def held(marker: Path, gate: Path | None = None) -> str:
    """A script that writes its process id to `marker`, says so, and waits: for `gate`, or for ever."""
    return f"""
import os, pathlib, time
pathlib.Path({str(marker)!r}).with_suffix(".new").write_text(str(os.getpid()))
os.rename(pathlib.Path({str(marker)!r}).with_suffix(".new"), {str(marker)!r})
print("holding", flush=True)
while not {f"pathlib.Path({str(gate)!r}).exists()" if gate else "False"}:
    time.sleep(0.01)
print("let go")
"""
