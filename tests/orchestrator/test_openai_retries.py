"""openai_model: what it tries again, how long it waits, when it stops."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.model_answers import Answer, Completion, Hang, Raw, failure
from tests.orchestrator.asking import answered, problem_of

from skillfleet.conversations.limits import Problem
from skillfleet.llm.base import ModelReply


@pytest.mark.parametrize(
    "broken",
    [
        Raw(b'{"choices": [', missing=500),
        Raw(b"", missing=500),
        Raw(b'{"error": {"code": 503, "message": "the provider behind us is full"}}'),
        Raw(b'{"object": "chat.completion"}'),
    ],
)
def test_what_may_pass_is_tried_again(broken: Answer) -> None:
    outcome, server = answered([broken, Completion("42")])
    assert isinstance(outcome, ModelReply), outcome
    assert len(server.received) == 2


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


@pytest.mark.parametrize("silent", [Hang(), Completion("too late", blanks=40)])
def test_a_provider_that_hangs_at_every_attempt_is_a_timeout(silent: Answer) -> None:
    problem = problem_of(silent, silent, attempt_s=0.2, max_retries=1)
    assert problem.code == "model_timeout"
    assert "tried 2 times" in problem.message


def test_no_time_at_all_asks_nobody() -> None:
    outcome, server = answered([Completion("42")], timeout_s=0)
    assert isinstance(outcome, Problem)
    assert (outcome.code, server.received) == ("model_timeout", [])
