"""Whether the fleet can run the skills that a plan's tools are of (pure)."""

from collections.abc import Collection, Iterator

from skillfleet_workers.wire.published import Snapshot
from skillfleet_workers.wire.versions import split

from .checking import Wrong
from .models import PlanJson
from .paths import ToolPath, tool_path

NAMED_SKILLS = 20


def unrunnable(plan: PlanJson, snapshot: Snapshot, allowed: Collection[str] | None = None) -> Iterator[Wrong]:
    """`allowed`: the only ones that it may use, None: all."""
    for index, tool in enumerate(plan.tools):
        path = tool_path(tool.tool_path)
        if isinstance(path, ToolPath) and (why := _why_not(path.skill, snapshot, allowed)):
            yield Wrong(f"tools[{index}].toolPath", why)


def may_use(name: str, allowed: Collection[str] | None) -> bool:
    """Some version of the skill. `allowed`: the only ones, None: all."""
    return allowed is None or name in {split(one)[0] for one in allowed}


def _why_not(name: str, snapshot: Snapshot, allowed: Collection[str] | None) -> str:
    if allowed is not None and name not in allowed and split(name)[0] not in allowed:  # not in another version
        return f"the skill {name!r} is none of those that may be used: {', '.join(allowed)}"
    found = snapshot.find(name)
    if found is None:
        names = list(dict.fromkeys(one.name for one in snapshot.skills if one.eligible))[:NAMED_SKILLS]
        return f"there is no skill {name!r}; there are: {', '.join(names) or 'none'}"
    return "" if found.eligible else f"the skill {name!r} cannot run on any worker: {found.reason.rstrip('.')}"
