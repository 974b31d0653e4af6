"""The tools of seed 000 are offered as that seed defines them; what is new about them is optional."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillfleet.conversations.messages import ToolDefinition
from skillfleet.tools.definitions import all_definitions

SEED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "recorded" / "seed-000-tools.json").read_text())
OURS = {tool.function.name: tool for tool in all_definitions()}


@pytest.mark.parametrize("seed", SEED, ids=[tool["function"]["name"] for tool in SEED])
def test_a_tool_of_the_seed_is_offered_compatibly(seed: dict[str, Any]) -> None:
    wanted = ToolDefinition.model_validate(seed).function
    ours = OURS[wanted.name].function
    assert ours.parameters["type"] == "object"
    assert ours.parameters["required"] == wanted.parameters["required"]
    types = {name: field["type"] for name, field in ours.parameters["properties"].items()}
    assert {name: field["type"] for name, field in wanted.parameters["properties"].items()}.items() <= types.items()
