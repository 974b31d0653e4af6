"""What the tools that stand for one script each are called (pure)."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..wire.contract import ScriptTool
from .models import Skill
from .scripts import ScriptMetadata, entry_of

MAX_CHARS = 60
SKILL_CHARS = 40
"""Of a tool name that is too long, the part before `__` is cut here."""

DIGEST_CHARS = 6


def script_tool_names(skill: Skill, scripts: Iterable[ScriptMetadata]) -> dict[str, ScriptMetadata]:
    """`skill__script`. Scripts of one name are told apart by their folder, then by their extension too."""
    ways = {script: _ways(skill.name, script.path) for script in scripts}
    chosen = dict.fromkeys(ways, 0)
    while True:
        names = {script: ways[script][way] for script, way in chosen.items()}
        count = Counter(names.values())
        ambiguous = [
            script for script, way in chosen.items() if count[names[script]] > 1 and way < len(ways[script]) - 1
        ]
        if not ambiguous:
            return {name: script for script, name in names.items()}
        chosen |= {script: chosen[script] + 1 for script in ambiguous}


def script_tools(skill: Skill, scripts: Sequence[ScriptMetadata]) -> tuple[ScriptTool, ...]:
    entry = entry_of(skill, scripts)
    schema = None if skill.parameters_schema is None else dict(skill.parameters_schema)
    return tuple(
        ScriptTool(
            tool=tool,
            script=str(script.path),
            description=script.description,
            language=script.script_type,
            parameters=schema if script == entry else None,
        )
        for tool, script in script_tool_names(skill, scripts).items()
    )


def _ways(skill: str, path: Path) -> tuple[str, ...]:
    """The names that a script may be given, the later ones for when the earlier are taken."""
    told = (path.stem, str(path.with_suffix("")), str(path))
    return (*(_tool_name(skill, way) for way in told), _with_digest(skill, str(path), f"{skill}/{path}"))


def _tool_name(skill: str, script: str) -> str:
    name = f"{re.sub('[^a-z0-9-]', '-', skill.lower())}__{_identifier(script)}"
    return name if len(name) <= MAX_CHARS else _with_digest(skill, script, f"{skill}/{script}")


def _with_digest(skill: str, script: str, of: str) -> str:
    digest = hashlib.sha256(of.encode()).hexdigest()[:DIGEST_CHARS]
    name = f"{re.sub('[^a-z0-9-]', '-', skill.lower())[:SKILL_CHARS]}__{_identifier(script)}"
    return f"{name[: MAX_CHARS - DIGEST_CHARS - 1]}_{digest}"


def _identifier(text: str) -> str:
    return re.sub("[^a-z0-9_]", "_", text.lower())
