"""Every adapter to a provider: what it tries again, when it stops, and what is heard of it meanwhile."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.conformance.model_sides import Asking, applies
from tests.model_answers import Answer, Break, Completion, Gate, Hang, HowItBreaks, Raw, Reset, TooLong, failure

from skillfleet.llm.base import Again, Said

RIGHT = Completion("Here it is.", (("c1", "x", '{"script": "print(6 * 7)"}'), ("c2", "y", '{"n": 1}')))
BREAKS: tuple[HowItBreaks, ...] = ("reset", "cut", "end", "half", "garbage", "error")
PAST = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
FUTURE = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


@applies("faults", streams=[True])
@pytest.mark.parametrize(
    "broken",
    [
        failure(429, "slow down"),
        failure(429, "slow down", retry_after="0"),
        failure(429, "slow down", retry_after="nonsense"),
        failure(429, "slow down", retry_after_ms="5"),
        failure(429, "slow down", retry_after=PAST),
        failure(408),
        failure(500),
        failure(529, "Overloaded", "overloaded_error"),
        failure(400, "once more", x_should_retry="true"),
        Raw(b"upstream is gone", 502),
        Raw(b"", missing=500),
        Raw(b"not json"),
        Raw(b'{"object": "something else"}'),
        Reset(),
        Completion(),
        Completion(" "),
    ],
)
def test_what_may_pass_is_tried_again(model: Asking, broken: Answer) -> None:
    outcome = model.ask(broken, Completion("42"))
    assert (outcome.message.content, len(outcome.received)) == ("42", 2)


@applies("faults")
@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("after", [1, 5])
def test_a_reply_that_breaks_in_the_middle_is_asked_for_anew_and_nothing_is_doubled(
    model: Asking, how: HowItBreaks, after: int
) -> None:
    outcome = model.ask(replace(RIGHT, breaks=Break(how, after)), RIGHT)
    assert len(outcome.received) == 2
    assert outcome.message.content == RIGHT.text
    calls = outcome.message.tool_calls or ()
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == list(RIGHT.calls)
    assert outcome.heard.count(Again()) == model.side.streams


@applies("faults")
@pytest.mark.parametrize("silent", [Hang(), Completion(blanks=40), replace(RIGHT, breaks=Break("hang"))])
def test_an_attempt_that_hangs_is_tried_again_where_time_is_left(model: Asking, silent: Answer) -> None:
    outcome = model.ask(silent, Completion("42"), attempt_s=1.0)
    assert (outcome.message.content, len(outcome.received)) == ("42", 2)


@applies("faults")
@pytest.mark.parametrize("silent", [Hang(), Completion("too late", blanks=40), replace(RIGHT, breaks=Break("hang"))])
def test_a_provider_that_is_silent_is_left_at_the_deadline(model: Asking, silent: Answer) -> None:
    problem = model.ask(silent, timeout_s=0.5).problem
    assert problem.code == "model_timeout"
    assert "0.5 seconds" in problem.message


@applies("faults", streams=[True])
@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (failure(429, "slow down"), "model_rate_limited"),
        (failure(529, "Overloaded"), "model_overloaded"),
        (Reset(), "model_unreachable"),
        (replace(RIGHT, breaks=Break("cut")), "model_unreachable"),
        (replace(RIGHT, breaks=Break("error")), "model_overloaded"),
    ],
)
def test_it_gives_up_after_its_retries_and_says_how_many(model: Asking, broken: Answer, code: str) -> None:
    outcome = model.ask(broken, broken, broken, max_retries=2)
    assert outcome.problem.code == code
    assert "tried 3 times" in outcome.problem.message
    assert len(outcome.received) == 3


@applies("faults")
@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (failure(401, "Incorrect API key."), "model_key_rejected", "Incorrect API key."),
        (failure(403, "Not in your country."), "model_key_rejected", "Not in your country."),
        (failure(404, "The model `x` does not exist"), "model_not_found", "does not exist"),
        (failure(400, "no such parameter"), "model_bad_request", "no such parameter"),
        (failure(402, "Your credit balance is too low"), "model_rate_limited", "credit balance"),
        (failure(503, "closed", x_should_retry="false"), "model_overloaded", "closed"),
        (failure(429, "slow down", retry_after="3600"), "model_rate_limited", "seconds left"),
        (failure(429, "slow down", retry_after=FUTURE), "model_rate_limited", "slow down"),
        (TooLong(), "model_context_exceeded", "210000 tokens"),
        (Completion(refusal="I won't."), "model_refused", "I won't."),
        (Completion(finish_reason="content_filter"), "model_refused", "withheld"),
        (Completion(finish_reason="length"), "model_malformed_reply", "token limit"),
    ],
)
def test_what_trying_again_cannot_mend_is_told_at_once(model: Asking, answer: Answer, code: str, says: str) -> None:
    outcome = model.ask(answer)
    assert outcome.problem.code == code
    assert says in outcome.problem.message
    assert len(outcome.received) == 1


@applies("faults")
def test_a_text_that_reached_the_token_limit_is_kept(model: Asking) -> None:
    assert model.ask(Completion("It is 4", finish_reason="length")).message.content == "It is 4"


@applies("faults")
def test_a_provider_that_shows_life_while_the_model_thinks_is_waited_for(model: Asking) -> None:
    outcome = model.ask(Completion("42", blanks=3))
    assert (outcome.message.content, len(outcome.received)) == ("42", 1)


@applies("faults", streams=[True])
def test_a_text_is_heard_before_the_reply_is_whole(model: Asking) -> None:
    gate = Gate(after=1)

    def hear(piece: object) -> None:
        if isinstance(piece, Said):
            gate.open()

    assert model.ask(Completion("It is 42, I say.", gate=gate), hear=hear).message.content == "It is 42, I say."
