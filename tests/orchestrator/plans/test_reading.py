"""What is refused of a plan, each with its place; and what is read of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from skillfleet.plans.checking import MAX_PLAN_BYTES, read_plan
from skillfleet.plans.models import MAX_TOOLS, PlanJson
from skillfleet.plans.schemas import SCHEMAS, files, schema_of

ROOT = Path(__file__).parents[3]
ID = "6f1c2c1e-3f0a-4c57-9a33-0d6f1f2b8a10"


def tool(name: Any = "a", *needs: str, **more: Any) -> dict[str, Any]:
    return {"toolId": name, "toolPath": "skill/scripts/run.py", "input": {}, "dependencies": list(needs)} | more


def plan(*tools: Any, **more: Any) -> dict[str, Any]:
    return {"requestId": ID, "tools": list(tools)} | more


def wrong(given: Any) -> dict[str, str]:
    found = read_plan(given)
    assert isinstance(found, tuple), found
    return {one.place: one.message for one in found}


def test_the_defaults_are_those_of_the_format() -> None:
    found = read_plan({"requestId": ID, "tools": [{"toolId": "a", "toolPath": "s/x.py", "input": {"n": 1}}]})
    assert isinstance(found, PlanJson)
    assert found.as_json() == {
        "requestId": ID,
        "narrative": None,
        "tools": [
            {
                "toolId": "a",
                "toolPath": "s/x.py",
                "input": {"n": 1},
                "dependencies": [],
                "required": True,
                "async": False,
                "retryPolicy": {"maxRetries": 3, "backoffMs": 100},
            }
        ],
        "parallel": False,
        "disabledSkills": [],
        "metadata": {"generationAttempt": 1, "parentPlanId": None},
    }


def test_what_was_written_is_read_again_as_it_was() -> None:
    more = {"narrative": "é", "parallel": True, "disabledSkills": ["x"]}
    meta = {"generationAttempt": 5, "parentPlanId": ID}
    full = plan(tool("a"), tool("b", "a", required=False) | {"async": True}, metadata=meta, **more)
    found = read_plan(json.dumps(full))
    assert isinstance(found, PlanJson)
    assert read_plan(found.as_json()) == found == PlanJson.model_validate_json(found.model_dump_json())


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ({}, ["requestId", "tools"]),
        (plan(), ["tools"]),
        (plan(tool(), more=1), ["more"]),
        (plan(tool(more=1)), ["tools[0].more"]),
        (plan(tool(input=[])), ["tools[0].input"]),
        (plan(tool(required="yes")), ["tools[0].required"]),
        (plan(tool() | {"async": 1}), ["tools[0].async"]),
        (plan(tool(retryPolicy={"maxRetries": -1})), ["tools[0].retryPolicy.maxRetries"]),
        (plan(tool(retryPolicy={"maxRetries": 1.5, "backoffMs": -1, "x": 0})),
         ["tools[0].retryPolicy.maxRetries", "tools[0].retryPolicy.backoffMs", "tools[0].retryPolicy.x"]),
        (plan(tool(), requestId="1"), ["requestId"]),
        (plan(tool(), metadata={"generationAttempt": 0, "parentPlanId": "x"}),
         ["metadata.generationAttempt", "metadata.parentPlanId"]),
        (plan(tool(""), tool(" "), tool("a" * 101)), ["tools[0].toolId", "tools[1].toolId", "tools[2].toolId"]),
        (plan({"toolId": "a"}), ["tools[0].toolPath", "tools[0].input"]),
        (plan("a"), ["tools[0]"]),
        (plan(tool("a", "b", "b"), tool("b")), ["tools[0].dependencies[1]"]),
        (plan(tool("a", "a")), ["tools[0].dependencies[0]"]),
        (plan(tool("a", "z"), tool("a")), ["tools[1].toolId", "tools[0].dependencies[0]"]),
        (plan(tool("a", "c"), tool("b", "a"), tool("c", "b")), ["tools[0].dependencies"]),
        (plan(tool(), disabledSkills=["skill"]), ["tools[0].toolPath"]),
        (plan(tool(toolPath="skill@1.0.0/x.py"), disabledSkills=["skill"]), ["tools[0].toolPath"]),
        (plan(tool("a", "a", toolPath="/x"), requestId="1"),
         ["requestId", "tools[0].toolPath", "tools[0].dependencies[0]"]),
    ],
)  # fmt: skip
def test_each_error_is_told_with_its_place(given: Any, places: list[str]) -> None:
    assert list(wrong(given)) == places


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x/y", "s/../y", "s", "s/", "//x", "s\\y", "s/./y", ".", "skills/s"]
)
def test_a_path_that_leaves_its_skill_is_refused(path: str) -> None:
    if path != "skills/s":  # a skill of that name may be there
        assert list(wrong(plan(tool(toolPath=path)))) == ["tools[0].toolPath"]


@pytest.mark.parametrize(
    ("quote", "told"),
    [
        ({"$from": "b"}, "there is no tool 'b'"),
        ({"$from": 1}, "is a toolId"),
        ({"$from": "c", "pointer": "x"}, "no JSON Pointer"),
        ({"$from": "c", "pointer": "/x~2"}, "no JSON Pointer"),
        ({"$from": "c", "more": 1}, "alone, not 'more'"),
        ({"$from": "d"}, "name it in dependencies"),
    ],
)
def test_a_quotation_that_leads_nowhere_is_refused(quote: dict[str, Any], told: str) -> None:
    found = wrong(plan(tool("a", "c", input={"rows": [0, {"x": quote}]}), tool("c"), tool("d")))
    assert list(found) == ["tools[0].input.rows[1].x"] and told in found["tools[0].input.rows[1].x"]


def test_what_comes_before_what_it_depends_on_may_be_quoted() -> None:
    quoting = tool("c", "b", input={"n": {"$from": "a", "pointer": "/n"}})
    assert isinstance(read_plan(plan(quoting, tool("b", "a"), tool("a"))), PlanJson)


def test_a_circle_is_named() -> None:
    found = wrong(plan(tool("x"), tool("a", "c"), tool("b", "a"), tool("c", "b")))
    assert found["tools[1].dependencies"].endswith("a -> c -> b -> a")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"a": NaN}', "[" * 300, b"\xff", '{"requestId": "\\ud800"}']
)
def test_what_is_no_json_object_is_one_error(text: str | bytes) -> None:
    assert len(wrong(text)) == 1


@pytest.mark.parametrize("given", [None, 5, [1], True])
def test_what_is_no_plan_at_all_is_an_error_and_no_exception(given: Any) -> None:
    assert wrong(given) == {"": "it is not a JSON object"}


def test_an_empty_plan_and_one_that_is_too_deep_are_told_in_plain_words() -> None:
    assert wrong(plan()) == {"tools": "a plan has at least one tool"}
    assert wrong("[" * 100_000 + "]" * 100_000) == {"": "it is nested too deeply"}


def test_a_key_that_occurs_twice_is_refused() -> None:
    assert "the key 'tools' occurs twice" in wrong('{"tools": [], "tools": []}')[""]


def test_the_input_itself_is_no_quotation() -> None:
    found = wrong(plan(tool("a"), tool("b", "a", input={"$from": "a", "pointer": "/n"})))
    assert list(found) == ["tools[1].input"] and "under a key" in found["tools[1].input"]


def test_as_many_tools_as_there_may_be_and_no_more() -> None:
    tools = [tool(f"t{number}") for number in range(MAX_TOOLS + 1)]
    assert isinstance(read_plan(plan(*tools[:-1])), PlanJson)
    assert list(wrong(plan(*tools))) == ["tools"]


def test_a_plan_that_is_too_long_is_refused() -> None:
    assert "longer than" in wrong(plan(tool(input={"text": "x" * MAX_PLAN_BYTES})))[""]


def test_the_published_schemas_are_those_of_the_models() -> None:
    for name, text in files():
        assert (ROOT / "docs" / "schemas" / name).read_text() == text
        Draft202012Validator.check_schema(json.loads(text))


# No line feeds: this validator's `$` matches before one at the end, which that of JSON Schema does not.
TEXTS = st.text(st.characters(exclude_characters="\n"), max_size=3)
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | TEXTS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner), max_leaves=4)
KEYS = ("toolId", "toolPath", "input", "dependencies", "required", "async", "retryPolicy", "more")


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.booleans())
def test_what_the_schema_refuses_is_refused(part: dict[str, Any], whole: bool) -> None:
    given = plan({**(tool() if whole else {}), **part})
    fits = Draft202012Validator(schema_of(SCHEMAS["plan-json"])).is_valid(given)
    found = read_plan(given)
    if not fits:
        assert isinstance(found, tuple)
    elif isinstance(found, tuple):  # by what no schema can tell
        assert all("dependencies" in one.place or "toolPath" in one.place for one in found), found
