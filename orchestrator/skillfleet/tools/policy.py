"""What the skill that governs allows (`allowed-tools`): checked before a call is sent (pure)."""

import posixpath
import re
import shlex
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from skillfleet_workers.wire.contract import (
    ACTIVATE,
    EXECUTE_CODE,
    GET_SKILL,
    LIST_SKILLS,
    READ_FILE,
    RUN_PYTHON,
    RUN_SCRIPT,
    SEARCH_SPEC,
    Governing,
    TaskSpec,
    ToolError,
    skill_of,
)
from skillfleet_workers.wire.shown import short

from ..conversations.models import Conversation
from ..conversations.runs import OfferedScript
from .own import SPAWN, OwnTool

ALWAYS = frozenset(spec.tool for spec in (LIST_SKILLS, GET_SKILL, ACTIVATE))
"""Whoever may not look for another skill could never leave the one that governs."""

BASH = "Bash"
NAMES = {
    READ_FILE.tool: frozenset({"Read", "Grep", "Glob"}),
    SPAWN.tool: frozenset({"Task", "Agent"}),
    **dict.fromkeys((spec.tool for spec in (RUN_PYTHON, RUN_SCRIPT, SEARCH_SPEC, EXECUTE_CODE)), frozenset({BASH})),
}
"""By tool of ours: the names by which skills allow what it does."""

PYTHONS = ("python", "python3")
INTERPRETERS = {
    "python": PYTHONS,
    "shell": ("bash", "sh"),
    "javascript": ("node",),
    "ruby": ("ruby",),
    "perl": ("perl",),
}
LANGUAGES = {".py": "python", ".sh": "shell", ".js": "javascript", ".rb": "ruby", ".pl": "perl"}
MAX_TOLD_CHARS = 400

_ENTRY = re.compile(r"([^()\s]+)(?:\((.*)\))?", re.DOTALL)


def refusal(
    name: str, spec: TaskSpec[Any] | OwnTool, request: dict[str, Any], conversation: Conversation
) -> ToolError | None:
    """Why the call of the tool that the model knows as `name` may not be made now; None: it may."""
    governing = conversation.governing
    if governing is None or governing.allowed_tools is None or spec.tool in ALWAYS:
        return None
    names = {name, spec.tool} | NAMES.get(spec.tool, frozenset())
    lines = _lines(spec, request, conversation.scripts, _folder(request, governing))
    if any(_allows(entry, names, lines) for entry in governing.allowed_tools):
        return None
    allowed = short(", ".join(governing.allowed_tools), MAX_TOLD_CHARS) or "no tools"
    about = f" ({short(lines[0], MAX_TOLD_CHARS)})" if lines else ""
    return ToolError(
        error="tool_not_allowed",
        message=f"The skill {governing.skill} governs now and does not allow {name}{about}; it allows: {allowed}.",
        fix=f"Go on with what it allows, or activate a skill that allows {name} with {ACTIVATE.tool}.",
    )


def _allows(entry: str, names: set[str], lines: tuple[str, ...]) -> bool:
    """`Bash`, `Bash(git:*)`: what begins with these words, `Bash(git *)`: a glob over the whole line."""
    parts = _ENTRY.fullmatch(entry.strip())
    if parts is None or parts[1] not in names:
        return False
    return parts[2] is None or any(_fits(line, parts[2].strip()) for line in lines)


def _fits(line: str, pattern: str) -> bool:
    if pattern.endswith(":*"):
        words = pattern.removesuffix(":*")
        return line == words or line.startswith(f"{words} ")
    return fnmatchcase(line, pattern)


def _folder(request: dict[str, Any], governing: Governing) -> str:
    """Of the skill that the call is about, as the one that governs sees it: its patterns mean its own files."""
    asked = skill_of(request) or ""
    name, _, version = asked.partition("@")
    return "" if name == governing.skill and version in ("", governing.version) else f"../{asked}/"


def _lines(
    spec: TaskSpec[Any] | OwnTool, request: dict[str, Any], scripts: Iterable[OfferedScript], folder: str
) -> tuple[str, ...]:
    """What the call is as a command line, in each way in which a skill may write it; of a file its path."""
    if spec.tool == SPAWN.tool:
        return ()
    if spec.tool == READ_FILE.tool:
        return (folder + posixpath.normpath(request["file_path"]),)
    if spec.tool != RUN_SCRIPT.tool:
        return PYTHONS
    path, language = _script(request, scripts)
    command = [folder + path, *request.get("args", ())]
    lines = (command, *([interpreter, *command] for interpreter in INTERPRETERS.get(language, ())))
    # Quoted as a shell would: an argument with a blank in it never looks like two.
    return tuple(map(shlex.join, lines))


def _script(request: dict[str, Any], scripts: Iterable[OfferedScript]) -> tuple[str, str]:
    """Its path and its language, which is empty where neither its path nor the skill tells it."""
    path = posixpath.normpath(request["script"])
    own = [script for script in scripts if script.script and script.skill_name == skill_of(request)]
    found = [script for script in own if script.script == path]
    found = found or [script for script in own if posixpath.splitext(posixpath.basename(script.script))[0] == path]
    if len(found) == 1:
        path = found[0].script
    told = found[0].language if len(found) == 1 else ""
    return path, told or LANGUAGES.get(posixpath.splitext(path)[1].lower(), "")
