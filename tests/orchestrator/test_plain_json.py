"""JSON that whoever reads it again can read."""

import json
import math
from typing import Any

import pytest
from tests.conversation_steps import make_spec

from skillfleet.conversations.models import ConversationSpec
from skillfleet.errors import BadRequestError
from skillfleet.fleet import Fleet
from skillfleet.subagents.models import AgentSpec, ChainStep
from skillfleet_workers.wire.plain_json import MOST_DEPTH, parsed, written


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


@pytest.mark.parametrize("data", [nested(MOST_DEPTH), [[[]]], {"a": [1e308, None, "\0", 10**400]}])
def test_what_json_carries_is_read_as_it_was_written(data: object) -> None:
    assert parsed(written(data).decode()) == data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (nested(MOST_DEPTH + 1), "nested too deep"),
        ([nested(500)], "nested too deep"),
        ({"a": [math.nan]}, "NaN"),
        ({"a": -math.inf}, "Infinity"),
        ({"\ud800": 1}, "surrogate"),
        ({"a": {1, 2}}, "cannot carry"),
    ],
)
def test_what_json_cannot_carry_is_not_written(data: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        written(data)


@pytest.mark.parametrize("text", ['{"a": NaN}', "[1e999]", '"\\ud800"', json.dumps(nested(MOST_DEPTH + 1)), "{"])
def test_what_is_no_json_by_the_letter_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON number|too large|surrogate|too deep|Expecting"):
        parsed(text)


def test_the_deepest_parameters_are_read_again_where_they_are_kept() -> None:
    deepest = nested(MOST_DEPTH)
    agent = AgentSpec(skill="a", params=deepest, steps=(ChainStep(skill="a", inputs=deepest),))
    spec = make_spec().model_copy(update={"agent": agent})
    assert ConversationSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize("given", [{"params": nested(150)}, {"params": {}, "metadata": nested(150)}])
def test_parameters_and_notes_that_nobody_could_read_again_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError, match="nested too deep"):
        Fleet().submit_skill("a", **given)
