"""Why there is no environment, as values that the model can read (pure)."""

from ..skills.models import Skill
from ..wire.contract import ToolError
from .declared import Wanted

HEAD_CHARS, TAIL_CHARS = 500, 1_000
"""Of uv's reason: it begins with the package, and ends with what its build said last."""


def build_failed(skill: Skill, needs: Wanted, reason: str) -> ToolError:
    packages = ", ".join(line for line in needs.lines if not line.startswith("-"))
    wheels = " Only packages with wheels can be asked for in a script." if needs.wheels_only else ""
    return ToolError(
        error="environment_build_failed",
        message=f"The environment of {skill.name!r} ({packages[:300]}) could not be built: {_trimmed(reason)}",
        fix=f"Correct the package that is named there in {needs.origin}, or do without it.{wheels}",
    )


def build_cancelled(skill: Skill) -> ToolError:
    return ToolError(
        error="cancelled",
        message=f"The call was cancelled while the environment of {skill.name!r} was being built.",
        fix="Call it again if it is still wanted.",
    )


def _trimmed(log: str) -> str:
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    # What uv did before it failed helps nobody.
    first = next((number for number, line in enumerate(lines) if line.startswith("error")), 0)
    text = "\n".join(lines[first:]) or "uv gave no reason"
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n[...]\n{text[-TAIL_CHARS:]}"
