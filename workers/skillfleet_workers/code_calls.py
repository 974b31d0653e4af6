"""Code mode over the files of a skill: what its `spec` and `ctx` are, and what a model is told of them."""

from collections.abc import Iterable
from functools import lru_cache

from .runtimes.code_runs import IMPORTS, CodeMode, CodeRun, Data, code_run
from .runtimes.shapes import names, shape
from .skills.models import Skill
from .skills.paths import open_inside
from .wire.contract import EXECUTE_CODE, SEARCH_SPEC, ScriptTool, ToolError
from .wire.plain_json import strict

MAX_DATA_BYTES = 64 << 20
NO_SPEC = ToolError(
    error="no_spec",
    message="This skill has no data to search: its SKILL.md names no spec.",
    fix="Read the skill with get_skill, and use its scripts or run_python_script.",
)


def code_call(skill: Skill, code: str, mode: CodeMode, variables: Iterable[str] = ()) -> CodeRun | ToolError:
    """`variables`: what `ctx` may be filled with, besides those that the skill declares. ToolError: the skill has no
    spec, or its files cannot be read."""
    if skill.spec is None:
        return NO_SPEC
    files = {"spec": skill.spec} if mode == "search" else {"spec": skill.spec, "ctx": skill.context}
    granted = (*skill.env, *variables)
    data = {name: _data(skill, path, granted if name == "ctx" else ()) for name, path in files.items()}
    for found in data.values():
        if isinstance(found, ToolError):
            return found
    read = {name: found for name, found in data.items() if isinstance(found, Data)}
    return code_run(code, read, (*IMPORTS, *skill.imports))


def code_tools(skill: Skill) -> tuple[ScriptTool, ...]:
    """The two tools, each with a hint of what it finds in this skill; none where there is no spec."""
    if skill.spec is None:
        return ()
    spec = f"in {skill.name}, spec is {_hint(skill, skill.spec, keys_only=False)}"
    ctx = f"{spec}; ctx has {_hint(skill, skill.context, keys_only=True)}"
    more = f"; may import {', '.join(skill.imports)} too" if skill.imports else ""
    return tuple(
        ScriptTool(tool=tool.tool, script="", description=f"{hint}{more}.", language="python")
        for tool, hint in ((SEARCH_SPEC, spec), (EXECUTE_CODE, ctx))
    )


def _data(skill: Skill, path: str | None, variables: tuple[str, ...]) -> Data | ToolError:
    if path is None:
        return Data(b"{}", "")
    file = open_inside(skill.root, path)
    if isinstance(file, ToolError):
        return file
    with file:
        text = file.read(MAX_DATA_BYTES + 1)
    if len(text) > MAX_DATA_BYTES:
        return ToolError(
            error="spec_too_large",
            message=f"{path} has more than {MAX_DATA_BYTES >> 20} MB.",
            fix="Tell the user that the skill's author must make it smaller.",
        )
    return Data(text, path, variables)


def _hint(skill: Skill, path: str | None, *, keys_only: bool) -> str:
    if path is None:
        return "nothing"
    try:
        status = (skill.root / path).stat()
    except (OSError, ValueError):  # a NUL byte in the path
        return f"not there: {path} cannot be read"
    return _read_hint(skill, path, keys_only, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=512)
def _read_hint(skill: Skill, path: str, keys_only: bool, _stamp: tuple[int, ...]) -> str:
    data = _data(skill, path, ())
    if isinstance(data, ToolError):
        return f"not there: {data.message}"
    try:
        value = strict(data.text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as wrong:
        return f"not there: {path} is no JSON: {wrong}"
    return names(value) if keys_only else shape(value)
