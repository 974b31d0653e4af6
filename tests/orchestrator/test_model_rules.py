"""What the model server of the tests refuses: a fake is worth what it refuses (pure)."""

from typing import Any

import pytest
from tests import anthropic_rules, openai_rules
from tests.model_answers import MODEL

USER = {"role": "user", "content": "u"}
USE = {"type": "tool_use", "id": "c1", "name": "x", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": ""}
USES = {"role": "assistant", "content": [{"type": "text", "text": "t"}, USE]}
RESULTS = {"role": "user", "content": [RESULT, {"type": "text", "text": "t"}]}
PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg=="}
IMAGE = {"type": "image", "source": PNG}
TOOL = {"name": "x", "input_schema": {"type": "object"}}
MARK = {"cache_control": {"type": "ephemeral"}}
OPEN = {"type": "object", "properties": {}}


def anthropic_refuses(**fields: Any) -> str | None:
    request = {"model": MODEL, "max_tokens": 9, "messages": [USER], **fields}
    given = {name: value for name, value in request.items() if value is not None}
    return anthropic_rules.why_refused({"anthropic-version": "2026-10-21"}, given)


def says(*content: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": list(content)}]}


def brings(*content: Any, use: dict[str, Any] = USE) -> dict[str, Any]:
    return {"messages": [USER, {"role": "assistant", "content": [use]}, {"role": "user", "content": list(content)}]}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"system": "s", "tools": [TOOL], "tool_choice": {"type": "none"}, "stream": True},
        {"messages": [USER, USES, RESULTS], "system": [{"type": "text", "text": "s"} | MARK]},
        brings(RESULT | {"content": [IMAGE, {"type": "text", "text": "t"}]} | MARK),
        brings(RESULT | {"content": "no", "is_error": True}),
        says(IMAGE),
        {"output_config": {"format": {"type": "json_schema", "schema": OPEN | {"additionalProperties": False}}}},
    ],
)
def test_what_anthropic_takes_is_taken(fields: dict[str, Any]) -> None:
    assert anthropic_refuses(**fields) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": None},
        {"max_tokens": 0},
        {"model": ""},
        {"messages": []},
        {"nonsense": 1},
        {"system": ""},
        {"messages": [{"role": "system", "content": "s"}]},
        {"messages": [{"role": "assistant", "content": "a"}]},
        {"messages": [USER, USER]},
        {"messages": [{"role": "user", "content": ""}]},
        {"messages": [USER, USES]},
        {"messages": [USER, USES, USER]},
        {"messages": [RESULTS]},
        says({"type": "text", "text": " "}),
        says(USE),
        says(IMAGE, role="assistant"),
        says({"type": "image", "source": PNG | {"media_type": "image/jpeg"}}),
        says({"type": "image", "source": PNG | {"media_type": "image/tiff"}}),
        says({"type": "image", "source": PNG | {"data": "not base64"}}),
        brings({"type": "text", "text": "t"}, RESULT),
        brings(RESULT, RESULT),
        brings(RESULT | {"is_error": True}),
        brings(RESULT | {"content": [USE]}),
        brings(RESULT | {"tool_use_id": "c|1"}, use=USE | {"id": "c|1"}),
        brings(RESULT, use=USE | {"name": "a b"}),
        brings(RESULT, use=USE | {"input": "{}"}),
        {"tools": [TOOL, TOOL]},
        {"tools": [{"name": "x"}]},
        {"tools": [TOOL | {"input_schema": {"type": "array"}}]},
        {"tools": [TOOL | {"parameters": {}}]},
        {"tool_choice": {"type": "none"}},
        {"tools": [TOOL], "tool_choice": {"type": "never"}},
        {"tools": [TOOL | {"name": f"x{n}"} | MARK for n in range(5)]},
        {"output_config": {"format": {"type": "json_schema", "schema": OPEN}}},
    ],
)
def test_what_anthropic_refuses_is_refused(fields: dict[str, Any]) -> None:
    assert anthropic_refuses(**fields)


def test_anthropics_version_is_wanted() -> None:
    assert anthropic_rules.why_refused({}, {"model": MODEL, "max_tokens": 9, "messages": [USER]})


def openai_refuses(**fields: Any) -> str | None:
    return openai_rules.why_refused({"model": MODEL, "messages": [USER], **fields})


def shows(url: str, role: str = "user") -> dict[str, Any]:
    part = {"type": "image_url", "image_url": {"url": url}}
    return {"messages": [{"role": role, "content": [{"type": "text", "text": "t"}, part]}]}


PNG_URL = f"data:image/png;base64,{PNG['data']}"
FUNCTION = {"type": "function", "function": {"name": "x"}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": OPEN}}


@pytest.mark.parametrize(
    "fields",
    [
        shows(PNG_URL),
        {"stream": True, "stream_options": {"include_usage": True}, "max_completion_tokens": 9},
        {"tools": [FUNCTION], "tool_choice": "none"},
        {"response_format": FORMAT},
    ],
)
def test_what_openai_takes_is_taken(fields: dict[str, Any]) -> None:
    assert openai_refuses(**fields) is None


@pytest.mark.parametrize(
    "fields",
    [
        shows(PNG_URL.replace("png", "jpeg")),
        shows("file:///x.png"),
        shows(PNG_URL, role="assistant"),
        {"messages": [{"role": "user", "content": []}]},
        {"nonsense": 1},
        {"stream_options": {"include_usage": True}},
        {"max_tokens": 9, "max_completion_tokens": 9},
        {"max_tokens": 0},
        {"tool_choice": "none"},
        {"tools": [FUNCTION], "tool_choice": "never"},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": OPEN}}},
        {"response_format": {"type": "json_schema", "json_schema": FORMAT["json_schema"] | {"strict": True}}},  # type: ignore[operator]
    ],
)
def test_what_openai_refuses_is_refused(fields: dict[str, Any]) -> None:
    assert openai_refuses(**fields)
