"""openai_model: what it tries again, how long it waits, when it stops."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.model_answers import Answer, Completion, Hang, Raw, failure
from tests.orchestrator.asking import answered, problem_of, reply_to

from skillfleet.conversations.limits import Problem
from skillfleet.llm.base import ModelReply


@pytest.mark.parametrize(
    "broken",
    [
        failure(429, "slow down"),
        failure(429, "slow down", retry_after="0"),
        failure(429, "slow down", retry_after="nonsense"),
        failure(429, "slow down", retry_after_ms="5"),
        failure(408),
        failure(500),
        failure(503),
        Raw(b"upstream is gone", 502),
        failure(400, "once more", x_should_retry="true"),
        Raw(b'{"choices": [', missing=500),
        Raw(b"", missing=500),
        Raw(b'{"error": {"code": 503, "message": "the provider behind us is full"}}'),
        Raw(b"not json"),
        Raw(b'{"object": "chat.completion"}'),
        Completion(),
    ],
)
def test_what_may_pass_is_tried_again(broken: Answer) -> None:
    outcome, server = answered([broken, Completion("42")])
    assert isinstance(outcome, ModelReply), outcome
    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (failure(429, "slow down"), "model_rate_limited"),
        (failure(500, "oops"), "model_overloaded"),
        (Raw(b'{"choi', missing=500), "model_unreachable"),
    ],
)
def test_it_gives_up_after_its_retries_and_says_how_many(broken: Answer, code: str) -> None:
    problem = problem_of(broken, broken, broken, max_retries=2)
    assert problem.code == code
    assert "tried 3 times" in problem.message


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"not json", "not JSON"),
        (b'"a string"', "body"),
        (b"{}", "choices"),
        (b'{"choices": []}', "choices"),
        (b'{"choices": [{"message": {"content": 42.5, "tool_calls": "no"}}]}', "tool_calls"),
        (b'{"choices": [{"message": {"tool_calls": [{"id": "a", "function": {"name": ""}}]}}]}', "name"),
        (b'{"choices": [{"message": {"content": " "}}]}', "neither"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_reply_that_stays_malformed_is_a_problem_after_one_more_try(body: bytes, says: str) -> None:
    problem = problem_of(Raw(body), Raw(body))
    assert problem.code == "model_malformed_reply"
    assert says in problem.message


def test_retry_after_in_seconds_is_waited_for() -> None:
    start = time.monotonic()
    answered([failure(429, retry_after="0.4"), Completion("42")])
    assert time.monotonic() - start >= 0.4


def test_retry_after_as_a_date_is_waited_for() -> None:
    date = datetime.now(UTC) + timedelta(seconds=2)
    answered([failure(429, retry_after=format_datetime(date, usegmt=True)), Completion("42")])
    assert datetime.now(UTC) >= date.replace(microsecond=0)


@pytest.mark.parametrize("asked", ["3600", format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)])
def test_a_retry_after_beyond_the_deadline_ends_it_at_once_with_the_reason(asked: str) -> None:
    problem = problem_of(failure(429, "slow down", retry_after=asked), timeout_s=30)
    assert problem.code == "model_rate_limited"
    assert "seconds left" in problem.message
    assert "slow down" in problem.message


def test_a_provider_that_never_answers_is_left_at_the_deadline() -> None:
    problem = problem_of(Hang(), timeout_s=0.5)
    assert problem.code == "model_timeout"
    assert "0.5 seconds" in problem.message


def test_a_provider_that_sends_blanks_while_it_thinks_is_left_at_the_deadline_too() -> None:
    assert reply_to(Completion("42", blanks=3)).message.content == "42"
    assert problem_of(Completion("too late", blanks=40), timeout_s=0.5).code == "model_timeout"


def test_an_attempt_that_hangs_is_tried_again_where_time_is_left() -> None:
    outcome, server = answered([Hang(), Completion(blanks=40), Completion("42")], attempt_s=0.3)
    assert isinstance(outcome, ModelReply), outcome
    assert len(server.received) == 3


@pytest.mark.parametrize("silent", [Hang(), Completion("too late", blanks=40)])
def test_a_provider_that_hangs_at_every_attempt_is_a_timeout(silent: Answer) -> None:
    problem = problem_of(silent, silent, attempt_s=0.2, max_retries=1)
    assert problem.code == "model_timeout"
    assert "tried 2 times" in problem.message


def test_no_time_at_all_asks_nobody() -> None:
    outcome, server = answered([Completion("42")], timeout_s=0)
    assert isinstance(outcome, Problem)
    assert (outcome.code, server.received) == ("model_timeout", [])
