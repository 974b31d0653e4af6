"""Messages in the OpenAI chat format, and which lists of them a provider takes."""

import pytest
from pydantic import ValidationError
from tests.conversation_steps import list_skills

from skillfleet.conversations.messages import Message, ToolCall, transcript_problem

SYSTEM = Message(role="system", content="s")
USER = Message(role="user", content="u")
ANSWER = Message(role="assistant", content="done")


def asking(*ids: str) -> Message:
    return Message(role="assistant", tool_calls=tuple(list_skills(name) for name in ids))


def answering(call_id: str) -> Message:
    return Message(role="tool", tool_call_id=call_id, name="list_skills", content="[]")


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (SYSTEM, USER, ANSWER, USER),
        (USER, asking("a"), answering("a"), ANSWER),
        (USER, asking("a", "b"), answering("b"), answering("a"), ANSWER),
        (USER, asking("a"), answering("a"), asking("a"), answering("a")),
    ],
)
def test_a_provider_takes_it(messages: tuple[Message, ...]) -> None:
    assert transcript_problem(messages) is None


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ((USER, asking("a")), "ends with unanswered"),
        ((USER, asking("a", "b"), answering("a")), "ends with unanswered"),
        ((USER, asking("a"), ANSWER), "not answered before"),
        ((USER, asking("a", "b"), answering("a"), USER), "not answered before"),
        ((USER, answering("a")), "answers no open call"),
        ((USER, asking("a"), answering("a"), answering("a")), "answers no open call"),
        ((USER, asking("a"), answering("b")), "answers no open call"),
        ((USER, asking("a", "a"), answering("a"), answering("a")), "repeated"),
        ((USER, SYSTEM), "system message after the first"),
    ],
)
def test_a_provider_refuses_it(messages: tuple[Message, ...], why: str) -> None:
    assert why in (transcript_problem(messages) or "")


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "tool", "content": "x"},
        {"role": "tool", "tool_call_id": "a"},
        {"role": "user"},
        {"role": "system", "content": ""},
        {"role": "assistant"},
        {"role": "user", "content": "x", "tool_calls": [list_skills().model_dump()]},
        {"role": "agent", "content": "x"},
    ],
)
def test_fields_that_do_not_fit_the_role_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Message.model_validate(fields)


def test_arguments_are_kept_as_the_model_wrote_them() -> None:
    written = {"id": "a", "function": {"name": "x", "arguments": '{"broken": '}}
    assert ToolCall.model_validate(written).function.arguments == '{"broken": '


def test_on_the_wire_only_what_is_set_is_sent_but_an_assistants_content() -> None:
    assert USER.wire() == {"role": "user", "content": "u"}
    assert set(answering("a").wire()) == {"role", "content", "tool_call_id"}
    wire = asking("a").wire()
    assert wire["content"] is None
    function = {"name": "list_skills", "arguments": "{}"}
    assert wire["tool_calls"] == [{"id": "a", "type": "function", "function": function}]
