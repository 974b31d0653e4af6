from typing import Any

import pytest

from skillfleet_workers.wire.json_schemas import misfits, schema_trouble

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def said(schema: dict[str, Any], value: Any, **bounds: Any) -> list[str]:
    assert schema_trouble(schema) is None
    return [misfit.message for misfit in misfits(schema, value, **bounds)]


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [("^[a-z]+$", "ab", "a1"), (r"^\p{Lu}", "Éa", "éa"), (r"^\d{4}-\d{2}$", "2020-11", "20-1"), ("b", "abc", "ac")],
)
def test_patterns_are_held_against_texts(pattern: str, fits: str, does_not: str) -> None:
    schema = {"properties": {"a": {"pattern": pattern}}}
    assert said(schema, {"a": fits}) == []
    assert said(schema, {"a": 5}) == []
    [told] = said(schema, {"a": does_not})
    assert told.startswith("a: ") and "does not match" in told


def test_what_no_pattern_of_names_covers_is_additional() -> None:
    schema = {
        "properties": {"b": {}},
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": False,
    }
    assert said(schema, {"x-a": "1", "b": 2}) == []
    assert said(schema, {"x-a": 1}) == ["x-a: 1 is not of type 'string'"]
    assert said(schema, {"x-a": "1", "c": 2}) == ["Additional properties are not allowed ('c' was unexpected)"]
    rest = {**schema, "additionalProperties": {"type": "integer"}}
    assert said(rest, {"x-a": "1", "c": "2"}) == ["c: '2' is not of type 'integer'"]


def test_a_pattern_that_takes_too_long_is_a_misfit() -> None:
    assert said({"pattern": "(x+x+)+y"}, "x" * 500) == ["the pattern '(x+x+)+y' took too long"]
    [told] = said({"patternProperties": {"(x+x+)+y": False}}, {"x" * 500: 1})
    assert told == "the pattern '(x+x+)+y' took too long"


@pytest.mark.parametrize("draft", [DRAFT, "http://json-schema.org/draft-07/schema#"])
def test_a_schema_that_refers_to_itself_by_its_draft_stays_within_bounds(draft: str) -> None:
    schema = {"$schema": draft, "pattern": "(x+x+)+y", "items": {"$ref": "#"}}
    assert said(schema, ["x" * 500]) == ["the pattern '(x+x+)+y' took too long"]


@pytest.mark.parametrize(
    "pattern",
    ["(", "a" * 1001, "(?:(?:(?:a{1000}){1000}){1000}){1000}", "a{1000000}", "(?:(?R)|a)*", "(a|(?1))*", "(?:" * 300],
)
def test_a_pattern_beyond_the_bounds_is_no_schema(pattern: str) -> None:
    assert schema_trouble({"pattern": pattern}) is not None
    assert schema_trouble({"patternProperties": {pattern: {}}}) is not None
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "patternProperties": {pattern: {}}}
    assert schema_trouble(old) is not None or said(old, {"a": 1})


def test_schemas_that_multiply_end_with_their_time() -> None:
    doubled = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {"$defs": {**doubled, "d60": {}}, "$ref": "#/$defs/d0"}
    assert said(schema, 1, budget_s=0.1) == ["to check it took longer than 0.1 s"]
    unevaluated = {"unevaluatedProperties": False, **schema}
    assert said(unevaluated, {"a": 1}, budget_s=0.1) == ["to check it took longer than 0.1 s"]


def test_items_are_compared_once_each() -> None:
    rows = [{"n": n} if n % 2 else [n] for n in range(60_000)]
    assert said({"uniqueItems": True}, rows, most_values=200_000) == []
    assert len(said({"uniqueItems": True}, [*rows, {"n": 1.0}], most_values=200_000)) == 1
    assert said({"uniqueItems": True}, [1, True, 0, False, "1", [], {}]) == []


def test_many_items_may_refer_to_one_schema() -> None:
    schema = {"$defs": {"row": {"type": "integer"}}, "items": {"$ref": "#/$defs/row"}}
    assert said(schema, list(range(20_000)), most_values=200_000) == []


def test_what_is_not_evaluated_is_refused_where_no_pattern_has_a_say() -> None:
    schema = {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}
    assert said(schema, {"a": 1}) == []
    [told] = said(schema, {"b": 1})
    assert "'b'" in told
    assert said({**schema, "patternProperties": {"^c": {}}}, {"b": 1}) == []
