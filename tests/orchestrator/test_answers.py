"""Answers that have to fit a schema: read, corrected, and in the end given up."""

from typing import Any

import pytest
from pydantic import BaseModel
from tests.conversation_steps import NOW, after, make_spec, says

from skillfleet.conversations.answers import MAX_CORRECTIONS, Fits, Unfit, read_answer, wrong_schema
from skillfleet.conversations.descent import retried
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import Submitted
from skillfleet.conversations.report import report
from skillfleet.errors import BadRequestError
from skillfleet.submission import Submission

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


class Number(BaseModel):
    n: int


def asked(schema: dict[str, Any] | None = SCHEMA, **limits: Any) -> Conversation:
    spec = make_spec(created_at=NOW, **limits).model_copy(update={"answer_schema": schema})
    return after(Conversation.begun(spec), Submitted())


@pytest.mark.parametrize(
    "content",
    ['{"n": 42}', ' {"n": 42}\n', '```json\n{"n": 42}\n```', 'Here it is:\n```json\n{"n": 42}\n```\nGood luck!'],
    ids=["plain", "blanks", "fenced", "fenced among words"],
)
def test_json_that_fits_is_taken_out_of_its_fence(content: str) -> None:
    assert read_answer(content, SCHEMA) == Fits({"n": 42}, '{"n": 42}')


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("forty-two", "not JSON"),
        ("", "not JSON"),
        ('{"n": NaN}', "NaN"),
        ('{"n": 1e999}', "too large"),
        ('{"n": "\\ud83d"}', "not JSON"),
        ('{"n": "42"}', "'42' is not of type 'integer'"),
        ("[" * 100_000, "not JSON"),
        ("[" + "1," * 200_000 + "1]", "more than"),
    ],
)
def test_what_does_not_fit_is_told_with_the_reason(content: str, why: str) -> None:
    read = read_answer(content, SCHEMA)
    assert isinstance(read, Unfit)
    assert why in read.why[0]
    assert len(read.why[0]) < 500


def test_an_answer_that_fits_completes_the_conversation_with_its_data() -> None:
    ended = after(asked(), says('```json\n{"n": 42}\n```'))
    assert (ended.status, ended.answer, ended.data) == ("completed", '{"n": 42}', {"n": 42})
    assert report(ended, NOW).data_as(Number).n == 42


def test_without_a_schema_any_text_is_an_answer_and_there_is_no_data() -> None:
    ended = after(asked(None), says('{"n": 42}'))
    assert (ended.status, ended.answer, ended.data) == ("completed", '{"n": 42}', None)
    with pytest.raises(BadRequestError, match="no data"):
        report(ended, NOW).data_as(Number)


def test_the_model_is_told_every_misfit_and_asked_again() -> None:
    two = {"type": "object", "required": ["a", "b"]}
    again = after(asked(two), says("{}"))
    assert (again.status, again.corrections) == ("running", 1)
    told = again.messages[-1]
    assert told.role == "user"
    assert told.content and "'a' is a required property" in told.content and "'b'" in told.content
    assert after(again, says('{"a": 1, "b": 2}')).status == "completed"


def test_after_three_corrections_it_has_failed_with_its_last_answer() -> None:
    ended = after(asked(), *[says(f"no {turn}") for turn in range(MAX_CORRECTIONS + 1)])
    assert ended.status == "failed"
    assert ended.error and ended.error.code == "answer_does_not_fit"
    assert (ended.answer, ended.data, ended.turn) == ("no 3", None, MAX_CORRECTIONS + 1)


def test_to_retry_it_asks_for_that_answer_once_more() -> None:
    ended = after(asked(), *[says(f"no {turn}") for turn in range(MAX_CORRECTIONS + 1)])
    spec = retried(ended, "c2")
    assert isinstance(spec, ConversationSpec)
    assert spec.answer_schema == SCHEMA
    assert spec.opening == ended.messages[:-1]
    assert spec.opening[-1].role == "user"


def test_corrections_are_turns_and_end_at_their_limit() -> None:
    closing = after(asked(max_turns=1), says("no"))
    assert (closing.status, closing.closing and closing.closing.code) == ("running", "max_turns")
    ended = after(closing, says("still no"))
    assert (ended.status, ended.error and ended.error.code) == ("expired", "max_turns")


def test_in_its_last_turn_nobody_is_asked_for_a_correction() -> None:
    closing = Problem(code="max_cost", message="It reached its limit.")
    last = asked().model_copy(update={"closing": closing})
    assert after(last, says("no")).error == closing
    fits = after(last, says('{"n": 1}'))
    assert (fits.status, fits.data) == ("expired", {"n": 1})


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "wrong"}, "'wrong' is not valid"),
        ({"$ref": "other.json"}, "refers to other.json"),
        ({"$ref": "#/$defs/gone"}, "refers to #/$defs/gone"),
        ({"description": "x" * 70_000}, "longer than"),
        ([], "no JSON object"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_anything_is_submitted(schema: object, why: str) -> None:
    assert why in (wrong_schema(schema) or "")
    with pytest.raises(BadRequestError, match="--schema"):
        Submission.of({"prompt": "hi", "schema": schema})


def test_a_schema_is_that_of_a_pydantic_model_too() -> None:
    spec = Submission.of({"prompt": "hi", "schema": Number}).spec()
    assert spec.answer_schema and spec.answer_schema["properties"]["n"]["type"] == "integer"
