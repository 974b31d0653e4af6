"""A plan that a person or a model has written: a PlanJson, or everything that is wrong with it (pure)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from skillfleet_workers.wire.plain_json import parsed, written
from skillfleet_workers.wire.versions import split

from .graph import ancestors, cycle, needs_of
from .models import PlanJson, ToolInvocation
from .paths import tool_path
from .quotes import quotes

MAX_PLAN_BYTES = 4_000_000
MAX_SHOWN = 20
"""So many things that are wrong are told to whoever cannot page."""

_CYCLE = "these tools need each other, in a circle: "


@dataclass(frozen=True, slots=True)
class Wrong:
    """`place`: in the plan, as `tools[2].dependencies[0]`; empty: all of it."""

    place: str
    message: str
    circular: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def read_plan(given: str | bytes | Mapping[str, Any]) -> PlanJson | tuple[Wrong, ...]:
    """`given`: JSON, or what JSON comes to."""
    try:
        data, size = _taken(given)
    except RecursionError:
        return (Wrong("", "it is nested too deeply"),)
    except ValueError as wrong:
        return (Wrong("", f"it is not JSON: {wrong}"),)
    if not isinstance(data, dict):
        return (Wrong("", "it is not a JSON object"),)
    if size > MAX_PLAN_BYTES:
        return (Wrong("", f"it is longer than {MAX_PLAN_BYTES} bytes; let tools read files in place of long inputs"),)
    try:
        plan = PlanJson.model_validate_json(written(data), strict=True, extra="forbid", by_alias=True, by_name=False)
    except ValidationError as wrong:
        misfits = [Wrong(_place(one["loc"]), _said(one)) for one in _errors(wrong, data)]
        return (*misfits, *_misfits(_readable(data), _disabled(data)))
    return tuple(_misfits(dict(enumerate(plan.tools)), plan.disabled_skills)) or plan


def told(wrong: Sequence[Wrong]) -> str:
    """All of it in one sentence, as far as there is room."""
    more = f"; and {len(wrong) - MAX_SHOWN} more" if len(wrong) > MAX_SHOWN else ""
    return "; ".join(map(str, wrong[:MAX_SHOWN])) + more


def _errors(wrong: ValidationError, data: dict[str, Any]) -> list[Any]:
    """A list whose parts are all wrong counts as empty, too: that tells nothing."""
    errors = wrong.errors(include_url=False)
    return [one for one in errors if not (one["type"] == "too_short" and one["loc"] == ("tools",) and data["tools"])]


def _taken(given: str | bytes | Mapping[str, Any]) -> tuple[Any, int]:
    """What it comes to, and its length.

    Raises: ValueError, RecursionError
    """
    if isinstance(given, str | bytes):
        return parsed(given if isinstance(given, str) else given.decode(), keys_once=True), len(given)
    data = dict(given) if isinstance(given, Mapping) else given
    return data, len(written(data))


def _readable(data: dict[str, Any]) -> dict[int, ToolInvocation]:
    """By their places, the tools in which nothing is wrong."""
    found: dict[int, ToolInvocation] = {}
    for index, tool in enumerate(data["tools"] if isinstance(data.get("tools"), list) else ()):
        with suppress(ValidationError):
            found[index] = ToolInvocation.model_validate_json(
                written(tool), strict=True, extra="forbid", by_alias=True, by_name=False
            )
    return found if len(found) == len(data.get("tools") or ()) else {}


def _disabled(data: dict[str, Any]) -> Collection[str]:
    given = data.get("disabledSkills")
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else ()


def _misfits(tools: Mapping[int, ToolInvocation], disabled: Collection[str]) -> Iterator[Wrong]:
    first: dict[str, int] = {}
    for index, tool in tools.items():
        if (before := first.setdefault(tool.tool_id, index)) != index:
            yield Wrong(f"tools[{index}].toolId", f"{tool.tool_id!r} is the id of tools[{before}] already")
        yield from _wrong_path(tool, disabled, f"tools[{index}].toolPath")
    unknown = list(_wrong_dependencies(tools, first.keys()))
    yield from unknown
    needs = needs_of(list(tools.values()))
    if unknown or len(first) < len(tools):
        yield from _all_wrong_quotes(tools, first.keys(), None)
    elif circle := cycle(needs):
        place = f"tools[{first[circle[0]]}].dependencies"
        yield Wrong(place, _CYCLE + " -> ".join(circle), circular=True)
        yield from _all_wrong_quotes(tools, first.keys(), None)
    else:
        yield from _all_wrong_quotes(tools, first.keys(), ancestors(needs))


def _wrong_path(tool: ToolInvocation, disabled: Collection[str], place: str) -> Iterator[Wrong]:
    path = tool_path(tool.tool_path)
    if isinstance(path, str):
        yield Wrong(place, path)
    elif {path.skill, split(path.skill)[0]} & set(disabled):
        yield Wrong(place, f"the skill {path.skill!r} is one of disabledSkills")


def _wrong_dependencies(tools: Mapping[int, ToolInvocation], known: Collection[str]) -> Iterator[Wrong]:
    for index, tool in tools.items():
        for at, needed in enumerate(tool.dependencies):
            place = f"tools[{index}].dependencies[{at}]"
            if needed == tool.tool_id:
                yield Wrong(place, f"{needed!r} can't depend on itself", circular=True)
            elif needed not in known:
                yield Wrong(place, f"there is no tool {needed!r} in the plan")
            elif needed in tool.dependencies[:at]:
                yield Wrong(place, f"{needed!r} is named twice")


def _all_wrong_quotes(
    tools: Mapping[int, ToolInvocation], known: Collection[str], come_before: Mapping[str, frozenset[str]] | None
) -> Iterator[Wrong]:
    """`come_before` None: there is no order."""
    for index, tool in tools.items():
        before = known if come_before is None else come_before[tool.tool_id]
        yield from _wrong_quotes(tool, f"tools[{index}].input", before, known)


def _wrong_quotes(
    tool: ToolInvocation, place: str, before: Collection[str], known: Collection[str]
) -> Iterator[Wrong]:
    for quote in quotes(dict(tool.input)):
        at = _place(quote.place, place)
        if quote.wrong:
            yield Wrong(at, quote.wrong)
        elif not quote.place:
            yield Wrong(at, "the input is an object, and no quotation; put that under a key of it")
        elif quote.tool_id not in known:
            yield Wrong(at, f"there is no tool {quote.tool_id!r} in the plan")
        elif quote.tool_id not in before:
            yield Wrong(at, f"{quote.tool_id!r} need not have run by then; name it in dependencies")


def _place(path: Sequence[str | int], begin: str = "") -> str:
    place = begin
    for step in path:
        if isinstance(step, int):
            place += f"[{step}]"
        else:
            place += f".{step}" if place else step
    return place


def _said(error: Any) -> str:
    kind, message = error["type"], str(error["msg"])
    if kind == "extra_forbidden":
        return "there is no such key in a plan"
    if kind == "missing":
        return "is missing"
    if kind == "too_short" and error["loc"] == ("tools",):
        return "a plan has at least one tool"
    return message[:1].lower() + message[1:]
