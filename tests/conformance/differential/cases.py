"""Small scripts that must do under a runtime exactly what they do under plain python.

They lie in `skill/` with `.py3` for `.py`, so that no tool takes the broken ones among them for our own code.
Comments at the top of one may say: `argv`, a list; `stdin`, a text; `stdin_times`, how often it is fed;
`as: file`, it makes no sense as source. Those of the groups in SOURCES run as source too.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from skillfleet_workers.runtimes.base import RunRequest, work_variables
from skillfleet_workers.runtimes.capture import with_line
from skillfleet_workers.runtimes.outcome import signal_name

SKILL = Path(__file__).parent / "skill"
SAID = re.compile(r"# (argv|stdin|stdin_times|as): (.*)")
SOURCES = ("encodings", "exits", "input", "introspection", "modules", "processes", "threads", "tracebacks")
TIMEOUT_S = 60.0
WHERE = "import os; print(__file__, os.getcwd(), *map(os.environ.get, ('SKILLFLEET_OUTPUT_DIR', 'HOME', 'TMPDIR')))"

Form = Literal["file", "source"]


@dataclass(frozen=True)
class Case:
    name: str
    argv: tuple[str, ...]
    stdin: bytes
    forms: tuple[Form, ...]

    @property
    def path(self) -> Path:
        """Inside the skill."""
        return Path("scripts", f"{self.name}.py")


def case(file: Path) -> Case:
    said: dict[str, Any] = {}
    for line in file.read_text().splitlines():
        if not (match := SAID.fullmatch(line)):
            break
        said[match[1]] = match[2] if match[1] == "as" else json.loads(match[2])
    stdin = said.get("stdin", "").encode() * said.get("stdin_times", 1)
    name = str(file.relative_to(SKILL / "scripts").with_suffix(""))
    only_file = "as" in said or name.partition("/")[0] not in SOURCES
    return Case(name, tuple(said.get("argv", ())), stdin, ("file",) if only_file else ("file", "source"))


CASES = [case(file) for file in sorted((SKILL / "scripts").rglob("[!_]*.py3"))]


def place_skill(folder: Path) -> Path:
    """A copy of the skill with its files under their real names."""
    for file in SKILL.rglob("*.*"):
        target = folder / file.relative_to(SKILL)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target.with_suffix(".py") if target.suffix == ".py3" else target)
    return folder


@dataclass(frozen=True)
class Seen:
    stdout: str
    stderr: str
    code: int | None


class Places:
    """Where a run has its files; what it says of them is made the same for all runs."""

    def __init__(self, *told: list[str]) -> None:
        """`told`: what WHERE printed in different runs; what varies between them is any name."""
        patterns: dict[str, str] = {}
        for word, variants in zip(("work", "skill", "output", "work", "work"), zip(*told, strict=True), strict=True):
            parts = [set(column) for column in zip(*(v.split("/") for v in variants), strict=True)]
            if word == "work" and not patterns:
                parts.pop()  # the script's own name
            names = (re.escape(part.pop()) if len(part) == 1 else r"[^/\s'\":]+" for part in parts)
            patterns[f"{'/'.join(names)}(?![^/\\s'\":,)\\]])"] = f"<{word}>"
        self._patterns = sorted(patterns.items(), key=lambda item: -len(item[0]))

    def hide(self, text: str) -> str:
        for pattern, word in self._patterns:
            text = re.sub(pattern, word, text)
        return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)

    def seen(self, stdout: str, stderr: str, code: int | None) -> Seen:
        return Seen(self.hide(stdout), self.hide(stderr), code)


def plain(request: RunRequest, source_name: str, folder: Path) -> Seen:
    """What the interpreter itself makes of the request; source given as text gets the name."""
    script = request.skill_root / request.script if isinstance(request.script, Path) else folder / source_name
    output = folder / "output"
    output.mkdir(parents=True)
    if isinstance(request.script, str):
        script.write_bytes(request.script.encode())
    done = subprocess.run(
        [request.interpreter, script, *request.arguments],
        cwd=request.skill_root,
        env={**request.environment, **work_variables(str(folder), str(output))},
        input=request.stdin,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        start_new_session=True,  # the caller's may belong to a PID namespace further out: it has no number here
    )
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    if done.returncode < 0:
        stderr = with_line(stderr, f"Signal: {signal_name(-done.returncode)}")
    told = [str(folder / source_name), str(request.skill_root), str(output), str(folder), str(folder)]
    return Places(told).seen(stdout, stderr, done.returncode)


def clean_environment(skill: Path, interpreter: Path) -> dict[str, str]:
    """As a worker gives it."""
    return {
        "PATH": f"{interpreter.parent}:{os.defpath}",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(skill),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SKILL_NAME": "differential",
    }
