"""Which tools of a plan may run now, and which never will (pure)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .models import PlanJson, ToolInvocation


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a plan has come, by tool ids. `succeeded`; `failed`: for good; `skipped`; `begun`: on their way, or
    waiting until they are run again; `held`: not yet to begin, whatever they depend on. All others wait."""

    succeeded: Collection[str] = frozenset()
    failed: Collection[str] = frozenset()
    skipped: Collection[str] = frozenset()
    begun: Collection[str] = frozenset()
    held: Collection[str] = frozenset()

    def has_ended(self, tool_id: str) -> bool:
        return tool_id in self.succeeded or tool_id in self.failed or tool_id in self.skipped

    def waits(self, tool_id: str) -> bool:
        return tool_id not in self.begun and not self.has_ended(tool_id)


def skipped(plan: PlanJson, standing: Standing) -> Mapping[str, str]:
    """Those that will never run, each with the dependency that is to blame: a required one that has failed, or one
    that is skipped itself. What has failed and is optional stops nothing."""
    if not standing.failed and not standing.skipped:
        return {}
    required = {tool.tool_id for tool in plan.tools if tool.required}
    blamed = (required & set(standing.failed)) | set(standing.skipped)
    found: dict[str, str] = {}
    dependents = _dependents(plan.tools)
    ahead = [one for one in (tool.tool_id for tool in plan.tools) if one in blamed]
    while ahead:
        blame = ahead.pop(0)
        for tool_id in dependents.get(blame, ()):
            if tool_id not in found and standing.waits(tool_id):
                found[tool_id] = blame
                ahead.append(tool_id)
    return found


def startable(plan: PlanJson, standing: Standing) -> Iterator[str]:
    """Those that may begin now, all of them, in the order of the plan: their dependencies have ended, and they run
    beside others only where both they and the plan allow it."""
    crowd = _Crowd(any(not plan.may_overlap(tool) for tool in plan.tools if tool.tool_id in standing.begun))
    crowd.anybody = bool(standing.begun)
    for tool in plan.tools:
        waits = standing.waits(tool.tool_id) and tool.tool_id not in standing.held
        ready = waits and all(map(standing.has_ended, tool.dependencies))
        if ready and crowd.admits(overlaps=plan.may_overlap(tool)):
            yield tool.tool_id
        if crowd.closed:
            return


@dataclass(slots=True)
class _Crowd:
    """Those that run. `closed`: one of them wants to be alone."""

    closed: bool
    anybody: bool = field(default=False)

    def admits(self, *, overlaps: bool) -> bool:
        if self.closed or (self.anybody and not overlaps):
            return False
        self.anybody, self.closed = True, not overlaps
        return True


def _dependents(tools: Sequence[ToolInvocation]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tool in tools:
        for needed in tool.dependencies:
            found.setdefault(needed, []).append(tool.tool_id)
    return found
