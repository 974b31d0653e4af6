"""Every adapter to a language model: what it makes of good replies, and what it tells the model."""

import json
from typing import Any

import pytest
from tests.conformance.model_sides import ADAPTERS, Asking, Side, applies
from tests.model_answers import Completion
from tests.model_requests import told
from tests.orchestrator.asking import ASKED, TOOLS

from skillfleet.conversations.limits import Usage
from skillfleet.conversations.messages import FunctionCall, Message, ToolCall, transcript_problem
from skillfleet.llm.anthropic_request import NOT_AN_OBJECT

ODD = "It is 42.\n\u2028 \u201cé\u201d 漢 \U0001f600 data: x\r\n\r\nevent: error"
TOOL_ERROR = '{"error": "unknown_skill", "message": "no such skill", "fix": "list_skills"}'
CLOSED = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
    "additionalProperties": False,
}


def calls_of(message: Message) -> list[tuple[str, Any]]:
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]


def answered(message: Message, content: str = "ok") -> tuple[Message, ...]:
    """The message, and what its calls brought."""
    calls = message.tool_calls or ()
    return message, *(Message(role="tool", tool_call_id=call.id, content=content) for call in calls)


def a_call(call_id: str = "c1", arguments: str = "{}", name: str = "run_python_script") -> Message:
    call = ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments))
    return Message(role="assistant", tool_calls=(call,))


@applies("replies")
@pytest.mark.parametrize("text", ["It is 42.", ODD])
def test_a_text_comes_back_as_it_was_said(model: Asking, text: str) -> None:
    assert model.ask(Completion(text)).message == Message(role="assistant", content=text)


@applies("replies")
def test_a_text_and_parallel_calls_come_back_in_their_order(model: Asking) -> None:
    said = model.ask(Completion("Both.", (("a", "x", '{"n": 1}'), ("b", "y", '{"s": "é\\n"}')))).message
    assert said.content == "Both."
    assert calls_of(said) == [("x", {"n": 1}), ("y", {"s": "é\n"})]


@applies("replies")
def test_fifty_calls_of_one_turn_are_told_apart(model: Asking) -> None:
    calls = tuple((f"id{n}", "x", json.dumps({"n": n})) for n in range(50))
    said = model.ask(Completion(calls=calls)).message
    assert calls_of(said) == [("x", {"n": n}) for n in range(50)]
    assert transcript_problem((*ASKED, *answered(said))) is None
    assert model.ask(Completion("Done."), messages=(*ASKED, *answered(said))).message.content == "Done."


@applies("replies")
@pytest.mark.parametrize("arguments", ['{"script": "print(6*7)', '{"script": print}', "[1, 2]"])
def test_arguments_that_are_no_json_object_are_kept_as_they_came_and_can_be_told_of(
    model: Asking, arguments: str
) -> None:
    said = model.ask(Completion(calls=(("a", "x", arguments),), finish_reason="length")).message
    assert [call.function.arguments for call in said.tool_calls or ()] == [arguments]
    on = model.ask(Completion("I see."), messages=(*ASKED, *answered(said, TOOL_ERROR)))
    assert on.message.content == "I see."
    for body in on.bodies:
        (sent,) = [call.function.arguments for message in told(body) for call in message.tool_calls or ()]
        assert sent in (arguments, json.dumps({NOT_AN_OBJECT: arguments}))


@applies("ids")
def test_missing_and_repeated_call_ids_are_made_unique_in_the_whole_transcript(model: Asking) -> None:
    before = (*ASKED, *answered(a_call("same")))
    sent = Completion(calls=(("same", "x", "{}"), ("", "x", "{}"), ("new", "x", "{}"), ("new", "x", "{}")))
    said = model.ask(sent, messages=before).message
    assert [call.id for call in said.tool_calls or ()] == ["call_1_0", "call_1_1", "new", "call_1_3"]
    assert transcript_problem((*before, *answered(said))) is None
    assert model.ask(sent, messages=before).message == said


@applies("requests")
def test_what_a_model_only_thinks_is_not_said(model: Asking) -> None:
    assert model.ask(Completion("42", thinking="6 * 7, hm")).message.content == "42"


@applies("requests")
def test_what_a_reply_costs_is_counted_with_what_was_cached(model: Asking) -> None:
    usage = model.ask(Completion("It is 42.", usage=(120, 7), cached=(100, 0))).reply.usage
    assert usage == Usage(input_tokens=120, output_tokens=7, cached_input_tokens=100)


@applies("requests")
def test_the_model_is_told_the_whole_transcript_with_its_tools(model: Asking) -> None:
    transcript = (
        *ASKED,
        Message(role="assistant", content="Looking.", tool_calls=a_call(arguments='{"n": 1}').tool_calls),
        Message(role="tool", tool_call_id="c1", name="run_python_script", content=TOOL_ERROR),
        Message(role="assistant", content="There is none."),
        Message(role="user", content="And now?"),
    )
    (body,) = model.ask(Completion("42"), messages=transcript).bodies
    assert told(body) == tuple(message.model_copy(update={"name": None}) for message in transcript)
    assert [tool.get("function", tool)["name"] for tool in body["tools"]] == [tool.function.name for tool in TOOLS]


@applies("requests", streams=[False])
def test_a_transcript_with_what_only_one_provider_likes_is_accepted(model: Asking) -> None:
    transcript = (
        Message(role="user", content="a"),
        Message(role="user", content="b"),
        *answered(a_call(call_id="toolu|01:é/" * 10), ""),
        Message(role="user", content="Go on."),
        Message(role="assistant", content=""),
        Message(role="user", content="c"),
    )
    outcome = model.ask(Completion("42"), messages=transcript, tools=())
    assert (outcome.message.content, len(outcome.received)) == ("42", 1)
    assert "tools" not in outcome.bodies[0]


@applies("requests")
def test_a_model_that_may_not_call_is_told_so_and_keeps_its_tools(model: Asking) -> None:
    transcript = (*ASKED, *answered(a_call()))
    outcome = model.ask(Completion("42"), messages=transcript, may_call=False)
    (body,) = outcome.bodies
    assert body["tool_choice"] in ("none", {"type": "none"})
    assert len(body["tools"]) == len(TOOLS)


@applies("requests")
def test_the_shape_of_an_answer_is_asked_for_in_the_providers_own_way(model: Asking) -> None:
    (body,) = model.ask(Completion('{"n": 42}'), schema=CLOSED).bodies
    asked = body.get("response_format", {}).get("json_schema") or body["output_config"]["format"]
    assert asked["schema"]["properties"].keys() == {"n"}
    assert asked["schema"]["additionalProperties"] is False


@applies("requests", streams=[False])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "array", "items": {"type": ["string", "null"]}},
        {"$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/a"}}}}, "$ref": "#/$defs/a"},
        {},
    ],
)
def test_any_schema_at_all_can_be_asked_with(model: Asking, schema: dict[str, Any]) -> None:
    outcome = model.ask(Completion('{"n": 42}'), schema=schema)
    assert (outcome.message.content, len(outcome.received)) == ('{"n": 42}', 1)


@applies("requests")
def test_the_length_of_a_reply_can_be_bounded(model: Asking) -> None:
    (body,) = model.ask(Completion("42"), max_output_tokens=77).bodies
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("second", ADAPTERS)
@pytest.mark.parametrize("first", ADAPTERS)
def test_what_one_adapter_begins_another_goes_on_with(first: str, second: str, streams: bool) -> None:
    begins, goes_on = Asking(Side(first, streams)), Asking(Side(second, streams))
    messages = ASKED
    calls = (("toolu_01:é", "x", '{"n": 1}'), ("call|2", "y", '{"n": '))
    for model, said in (
        (begins, Completion("One.", calls)),
        (goes_on, Completion(calls=calls)),
        (begins, Completion("Two.")),
    ):
        outcome = model.ask(said, messages=messages)
        messages += answered(outcome.message, TOOL_ERROR)
        assert transcript_problem(messages) is None
        assert [one.status for one in outcome.received] in ([200], [])
    assert messages[-1].content == "Two."
