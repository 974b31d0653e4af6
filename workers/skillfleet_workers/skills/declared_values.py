"""The values that a skill declares: each checked, and where it is wrong left out with a warning (pure)."""

import re
from collections.abc import Callable
from typing import Any, get_args

from ..wire.contract import TASK_BY_TOOL
from ..wire.json_schemas import schema_trouble
from ..wire.plugins import RUNTIMES, plugins
from ..wire.published import TOPIC_NAME
from .json_texts import JsonError, json_value
from .models import WITHHELD, BuiltInRuntime, InputMode, Requirements
from .sources import Reader, Said, shown
from .yaml_trees import TooManyValuesError

MAX_TAGS = 10
MAX_TAG = 30
MAX_COMPATIBILITY = 500
PLATFORMS = ("darwin", "linux", "win32")

VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_QUEUE = re.compile(r"[a-z0-9-]{1,40}")
_TOPIC = re.compile(rf"(?=.{{1,100}}\Z){TOPIC_NAME}")
_DEPENDENCY = re.compile(rf"[^\s@/\\]{{1,64}}(@{VERSION.pattern})?")
_TOOL = re.compile(r"[A-Za-z_][\w-]*(?:\([^()]*\))?")
_SCRIPT_TOOL = re.compile(r"[a-z0-9-]+__[a-z0-9_]+")
_ENGINE_TOOL = re.compile(r"(Bash|Read|Grep|Glob)(\([^()]*\))?")

Check = Callable[[str], tuple[str, str] | None]
"""None: it is right; else the code of its problem and what it is not."""


def number(least: int, most: int, unit: str) -> Reader:
    def read(said: Said) -> int | None:
        value = said.value
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        said.wrong("number-invalid", f"{said.key}: {shown(said.value)} is not {least}-{most} {unit}; ignored")
        return None

    return read


def choice(*options: str) -> Reader:
    def read(said: Said) -> str | None:
        chosen = said.value.lower() if isinstance(said.value, str) else said.value
        if isinstance(chosen, str) and chosen in options:
            return chosen
        said.wrong("choice-unknown", f"{said.key}: {shown(said.value)} is none of {', '.join(options)}; ignored")
        return None

    return read


def runtime(said: Said) -> str | None:
    """One of ours, or of others that are installed."""
    names = (*get_args(BuiltInRuntime), *(plugin.name for plugin in plugins(RUNTIMES)))
    chosen: str | None = choice(*names)(said)
    return chosen


def flag(said: Said) -> bool | None:
    if isinstance(said.value, bool):
        return said.value
    chosen = choice("true", "false")(said)
    return None if chosen is None else chosen == "true"


def fork(said: Said) -> bool | None:
    return choice("fork")(said) == "fork" or None


def text(said: Said) -> str | None:
    if isinstance(said.value, str):
        return said.value.strip()
    said.wrong("not-a-text", f"{said.key} is no text; ignored")
    return None


def compatibility(said: Said) -> str | None:
    found = text(said)
    if found and len(found) > MAX_COMPATIBILITY:
        said.wrong("compatibility-too-long", f"{said.key} is longer than {MAX_COMPATIBILITY} characters")
    return found


def hint(said: Said) -> str | None:
    """`[file] [pages]` is the usual way to write one; YAML takes a single one for a list."""
    if isinstance(said.value, list) and all(isinstance(word, str) for word in said.value):
        return f"[{', '.join(said.value)}]"
    return text(said)


def words(said: Said) -> tuple[str, ...] | None:
    """A list, or a string of lines, or of words."""
    value = said.value
    if isinstance(value, str):
        stripped = value.strip()
        value = stripped.splitlines() if "\n" in stripped else stripped.split()
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(word.strip() for word in value if word.strip())
    said.wrong("not-a-list", f"{said.key} is neither a list nor a text; ignored")
    return None


def words_that(check: Check) -> Reader:
    def read(said: Said) -> tuple[str, ...] | None:
        found = words(said)
        kept = []
        for word in found or ():
            if wrong := check(word):
                said.wrong(wrong[0], f"{said.key}: {shown(word)} is {wrong[1]}; ignored")
            else:
                kept.append(word)
        return None if found is None else tuple(kept)

    return read


def a_text_that(check: Check) -> Reader:
    def read(said: Said) -> str | None:
        wrong = check(said.value) if isinstance(said.value, str) else check("")
        if wrong is None:
            return str(said.value)
        said.wrong(wrong[0], f"{said.key}: {shown(said.value)} is {wrong[1]}; ignored")
        return None

    return read


def matching(pattern: re.Pattern[str], code: str, what: str) -> Check:
    return lambda word: None if pattern.fullmatch(word) else (code, what)


def _variable(name: str) -> tuple[str, str] | None:
    if not _VARIABLE.fullmatch(name):
        return "variable-invalid", "no name of a variable"
    return ("variable-withheld", "never given to a skill") if name.startswith(WITHHELD) else None


def _tag(tag: str) -> tuple[str, str] | None:
    return ("tag-too-long", f"longer than {MAX_TAG} characters") if len(tag) > MAX_TAG else None


variables = words_that(_variable)
variable = a_text_that(matching(_VARIABLE, "variable-invalid", "no name of a variable"))
modules = words_that(matching(_MODULE, "module-invalid", "no name of a module"))
dependencies = words_that(matching(_DEPENDENCY, "dependency-invalid", "no name of a skill"))
image = a_text_that(matching(_IMAGE, "image-invalid", "no name of an image"))
version = a_text_that(matching(VERSION, "version-invalid", "no version"))
queue = a_text_that(matching(_QUEUE, "field-invalid", "not 1-40 lower-case letters, digits and hyphens"))
topic = a_text_that(matching(_TOPIC, "field-invalid", "not 1-100 letters, digits, - and _, in words with dots"))


def tags(said: Said) -> tuple[str, ...] | None:
    found: tuple[str, ...] | None = words_that(_tag)(said)
    if found and len(found) > MAX_TAGS:
        said.wrong("list-too-long", f"{said.key}: there are more than {MAX_TAGS}; the first {MAX_TAGS} are used")
    return found and found[:MAX_TAGS]


def file(said: Said) -> str | None:
    """Where it lies is checked when it is read."""
    if isinstance(said.value, str):
        return said.value
    said.wrong("not-a-text", f"{said.key} is no path of a file; ignored")
    return None


def tools(said: Said) -> tuple[str, ...]:
    """`Bash(git:*) Read`, or a list of such; what is in parentheses may hold spaces."""
    parts = [said.value] if isinstance(said.value, str) else said.value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        said.wrong("not-a-list", "allowed-tools is neither a list nor a text: it allows nothing")
        return ()
    found = tuple(tool for part in parts for tool in _TOOL.findall(part))
    for tool in found:
        if not (_ENGINE_TOOL.fullmatch(tool) or tool in TASK_BY_TOOL or _SCRIPT_TOOL.fullmatch(tool)):
            said.wrong("tool-unknown", f"allowed-tools: {shown(tool)} is no tool of this client")
    return found


def protocol(said: Said) -> dict[str, InputMode] | None:
    if not isinstance(said.value, dict):
        said.wrong("not-a-map", "protocol is no map of script names to text, json or ndjson; ignored")
        return None
    found: dict[str, InputMode] = {}
    for name, mode in said.value.items():
        match mode:
            case "text" | "json" | "ndjson":
                found[str(name)] = mode
            case _:
                options = ", ".join(get_args(InputMode))
                said.wrong("choice-unknown", f"protocol: {shown(mode)} is none of {options}; ignored")
    return found


def schema(said: Said) -> dict[str, Any] | None:
    """A map, or a text of JSON."""
    try:
        value = json_value(said.value) if isinstance(said.value, str) else said.typed
    except (TooManyValuesError, JsonError) as wrong:
        value, trouble = None, f"it cannot be read: {wrong}"
    else:
        trouble = schema_trouble(value) or ""
    if trouble:
        said.wrong("schema-invalid", f"{said.key} is no JSON Schema: {trouble}; ignored")
        return None
    return dict(value)


def inputs(said: Said) -> dict[str, dict[str, Any]] | None:
    """By skill, values of its parameters; a text of JSON too."""
    try:
        value = json_value(said.value) if isinstance(said.value, str) else said.typed
    except (TooManyValuesError, JsonError):
        value = None
    if isinstance(value, dict) and all(isinstance(part, dict) for part in value.values()):
        return value
    said.wrong("not-a-map", f"{said.key} is no map of skills to maps of values; ignored")
    return None


def requirements_of_host(said: Said) -> Requirements | None:
    """Of openclaw, `os` stands beside `requires`, and `anyBins` is its word for `any_bins`."""
    if not isinstance(said.value, dict):
        return None
    inner = said.part("requires") or said
    parts = {name: inner.part(name) for name in ("bins", "env", "config")}
    parts |= {"any_bins": inner.part("any_bins") or inner.part("anyBins"), "os": inner.part("os") or said.part("os")}
    found = {name: words(part) or () for name, part in parts.items() if part}
    for platform in found.get("os", ()):
        if platform not in PLATFORMS:
            said.wrong("choice-unknown", f"os: {shown(platform)} is none of {', '.join(PLATFORMS)}")
    return Requirements(**found)
