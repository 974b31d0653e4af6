"""What a skill takes that runs without a model (pure)."""

from collections.abc import Mapping

from pydantic import JsonValue

from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.published import Snapshot

from .models import ChainStep


def chained(snapshot: Snapshot, skill: str, params: Mapping[str, JsonValue]) -> tuple[ChainStep, ...] | ToolError:
    found = snapshot.find(skill)
    if found is None or found.entry is None:
        message = f"There is no skill {skill!r} that runs without a model."
        return ToolError(error="unknown_skill", message=message, fix="Look with list_skills.")
    return (ChainStep(skill=skill, version=found.version, script=found.entry.script, inputs=dict(params)),)
