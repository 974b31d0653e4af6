"""How a skill runs without a model, as the fleet is told of it."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from ..wire.published import Entry
from .models import Skill
from .scripts import entry_of, scripts_of

MAX_CHARS = 16_000
"""Of a skill's schema, and of its inputs: every conversation's skills are kept with them."""

log = logging.getLogger(__name__)


def entry_for(skill: Skill) -> Entry | None:
    """None: it has nothing to run, or not only one script and does not say which."""
    script = entry_of(skill, scripts_of(skill))
    if script is None and (skill.entry is not None or not skill.dependencies):
        return None
    return Entry(
        script=str(script.path) if script else "",
        parameters=_small(skill, "parameters_schema", skill.parameters_schema or {}),
        dependencies=skill.dependencies,
        inputs=_small(skill, "inputs", skill.inputs or {}),
        topic=skill.topic,
    )


def _small(skill: Skill, what: str, value: Mapping[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except ValueError as wrong:
        log.warning("the %s of skill %s cannot be published: %s", what, skill.name, wrong)
        return {}
    if size > MAX_CHARS:
        log.warning("the %s of skill %s has %d characters and is not published", what, skill.name, size)
        return {}
    return dict(value)
