"""Requests, results and what is stored only grow: a field may be added with a default, none is renamed, removed or
made narrower."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.models import MODELS, with_parts
from tests.contract.schemas import Schema, narrowed, schemas

RECORDED = sorted((Path(__file__).parent / "recorded").glob("v*/schemas.json"))

FLAT: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "timeout": {"anyOf": [{"type": "integer", "maximum": 3600, "minimum": 1}, {"type": "null"}]},
        "status": {"enum": ["a", "b"], "type": "string"},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
    },
    "required": ["name"],
    "$defs": {"Part": {"type": "object", "properties": {"text": {"type": "string"}}}},
}


def changed(path: str, value: Any) -> Schema:
    """A copy with this value at the path; None removes what was there."""
    copy: Schema = json.loads(json.dumps(FLAT))
    *way, last = path.split("/")
    place: Any = copy
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    if value is None:
        del place[int(last) if isinstance(place, list) else last]
    else:
        place[last] = value
    return copy


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("name", MODELS)
def test_what_a_release_wrote_is_taken_by_this_one(path: Path, name: str) -> None:
    recorded = json.loads(path.read_text())
    if name not in recorded:
        pytest.skip("it was not there yet")
    assert narrowed(recorded[name], schemas()[name]) == []


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_no_model_of_a_release_is_gone(path: Path) -> None:
    assert set(json.loads(path.read_text())) <= set(MODELS)


def test_no_model_refuses_what_a_later_release_adds() -> None:
    parts = {part for model in MODELS.values() for part in with_parts(model)}
    assert len(parts) > len(MODELS)
    assert [part.__name__ for part in parts if part.model_config.get("extra", "ignore") != "ignore"] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("properties/name", None),
        ("properties/name/type", "integer"),
        ("properties/timeout/anyOf/1", None),
        ("properties/timeout/anyOf/0/maximum", 60),
        ("properties/timeout/anyOf/0/minimum", 2),
        ("properties/status/enum", ["a"]),
        ("properties/parts/items/$ref", "#/$defs/Gone"),
        ("$defs/Part/properties/text", None),
        ("$defs/Part/required", ["text"]),
        ("$defs/Part/additionalProperties", False),
        ("properties/name/pattern", "^[a-z]+$"),
        ("properties/name/enum", ["one"]),
    ],
)
def test_a_change_that_breaks_what_was_written_is_seen(path: str, value: Any) -> None:
    new = changed(path, value)
    new["$defs"]["Gone"] = {"type": "object", "properties": {}}
    assert len(narrowed(FLAT, new)) == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("properties/added", {"type": "string", "default": ""}),
        ("properties/status/enum", ["a", "b", "c"]),
        ("properties/timeout/anyOf/0/maximum", 7200),
        ("properties/name/anyOf", [{"type": "string"}, {"type": "null"}]),
        ("required", None),
        ("$defs/Part/properties/more", {"type": "integer", "default": 0}),
    ],
)
def test_growing_is_allowed(path: str, value: Any) -> None:
    assert narrowed(FLAT, changed(path, value)) == []
