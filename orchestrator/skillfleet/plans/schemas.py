"""The JSON Schemas of a plan and of its result, derived from the models (pure).

`python -m skillfleet.plans.schemas FOLDER` writes them there, under the names that seed 003 gives them.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel

from .models import ExecutionResult, PlanJson, PlanPart

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, type[PlanPart]] = {"plan-json": PlanJson, "execution-result": ExecutionResult}
"""By the names that seed 003 gives them."""


def schema_of(model: type[PlanPart]) -> dict[str, Any]:
    """No key is allowed that it does not name."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    for part in (schema, *schema.get("$defs", {}).values()):
        if part.get("type") == "object":
            part["additionalProperties"] = False
        if "description" in part:
            part["description"] = _on_the_wire(part["description"])
    return {"$schema": DRAFT, **schema}


def _on_the_wire(description: str) -> str:
    """In one line, with the names that keys have there."""
    return re.sub(r"`([a-z_]+)`", lambda name: f"`{to_camel(name[1])}`", " ".join(description.split()))


def files() -> Iterator[tuple[str, str]]:
    """Names, and what is in them."""
    for name, model in SCHEMAS.items():
        yield f"{name}.schema.json", json.dumps(schema_of(model), indent=2) + "\n"


if __name__ == "__main__":
    for name, text in files():
        Path(sys.argv[1], name).write_text(text)
