"""OpenAIModel with the real SDK over real HTTP."""

import json
import logging
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from typing import Any

import pytest
from pydantic import SecretStr
from tests.model_answers import MODEL, Answer, Answers, Completion, Hang, Raw, failure
from tests.model_server import KEY, ModelServer

from skillfleet.conversations.messages import (
    FunctionCall,
    FunctionDefinition,
    Message,
    ToolCall,
    ToolDefinition,
    transcript_problem,
)
from skillfleet.conversations.models import Problem, Usage
from skillfleet.llm.base import ModelReply
from skillfleet.llm.openai import OpenAIModel
from skillfleet.llm.prompts import opening

ASKED = opening("What is 6 * 7?")
TOOLS = (
    ToolDefinition(
        function=FunctionDefinition(
            name="run_python_script",
            description="Run Python code.",
            parameters={"type": "object", "properties": {"script": {"type": "string"}}},
        )
    ),
)


def model_of(server: ModelServer, **options: Any) -> OpenAIModel:
    given: dict[str, Any] = {"backoff_s": 0.001, **options}
    return OpenAIModel(SecretStr(given.pop("key", KEY)), server.base_url, MODEL, **given)


def answered(
    answers: Answers, *, messages: tuple[Message, ...] = ASKED, timeout_s: float = 30, **options: Any
) -> tuple[ModelReply | Problem, ModelServer]:
    with ModelServer(answers) as server:
        return model_of(server, **options).reply(messages, TOOLS, timeout_s=timeout_s), server


def reply_to(answer: Answer, **options: Any) -> ModelReply:
    outcome, _ = answered([answer], **options)
    assert isinstance(outcome, ModelReply), outcome
    return outcome


def problem_of(*answers: Answer, **options: Any) -> Problem:
    outcome, server = answered(answers, **options)
    assert isinstance(outcome, Problem), outcome
    assert len(server.received) == len(answers), "each answer is asked for once"
    assert outcome.fix
    return outcome


def test_a_text_comes_back_with_what_it_cost() -> None:
    reply = reply_to(Completion("It is 42.", usage=(120, 7)))
    assert reply.message == Message(role="assistant", content="It is 42.")
    assert reply.usage == Usage(input_tokens=120, output_tokens=7)


def test_tool_calls_come_back_verbatim_even_with_malformed_arguments() -> None:
    malformed = '{"script": "print(6*7)", oops'
    reply = reply_to(Completion("Running.", calls=(("id-1", "run_python_script", malformed), ("id-2", "x", ""))))
    assert reply.message == Message(
        role="assistant",
        content="Running.",
        tool_calls=(
            ToolCall(id="id-1", function=FunctionCall(name="run_python_script", arguments=malformed)),
            ToolCall(id="id-2", function=FunctionCall(name="x", arguments="")),
        ),
    )


def test_the_transcript_goes_out_as_it_stands_with_the_key_and_the_tools() -> None:
    call = ToolCall(id="c1", function=FunctionCall(name="run_python_script", arguments="{broken"))
    transcript = (
        *ASKED,
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", tool_call_id="c1", content='{"stdout": "42\\n", "é": "漢"}'),
    )
    outcome, server = answered([Completion("42")], messages=transcript)
    assert isinstance(outcome, ModelReply), outcome
    (received,) = server.received
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body == {
        "model": MODEL,
        "messages": [message.wire() for message in transcript],
        "tools": [tool.model_dump() for tool in TOOLS],
    }


def test_without_tools_the_parameter_is_left_out() -> None:
    with ModelServer([Completion("42")]) as server:
        outcome = model_of(server).reply(ASKED, (), timeout_s=30)
    assert isinstance(outcome, ModelReply), outcome
    assert "tools" not in server.received[0].body


def test_missing_and_repeated_call_ids_are_made_unique_in_the_whole_transcript() -> None:
    call = ToolCall(id="same", function=FunctionCall(name="x", arguments="{}"))
    before = (
        *ASKED,
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", tool_call_id="same", content="1"),
    )
    sent = Completion(calls=(("same", "x", "{}"), ("", "x", "{}"), ("new", "x", "{}"), ("new", "x", "{}")))
    reply = reply_to(sent, messages=before)
    ids = [call.id for call in reply.message.tool_calls or ()]
    assert ids == ["call_1_0", "call_1_1", "new", "call_1_3"]
    answers = tuple(Message(role="tool", tool_call_id=call_id, content="ok") for call_id in ids)
    assert transcript_problem((*before, reply.message, *answers)) is None
    assert reply_to(sent, messages=before) == reply


@pytest.mark.parametrize(
    ("sent", "content"),
    [
        ({"content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "42."}]}, "It is 42."),
        ({"content": "4\ud83d2", "reasoning_content": "hm"}, "4?2"),
        ({"content": "42", "tool_calls": []}, "42"),
        ({"content": "42", "tool_calls": None, "refusal": None}, "42"),
    ],
)
def test_the_dialects_of_other_providers_are_understood(sent: dict[str, Any], content: str) -> None:
    assert reply_to(Completion(message=sent)).message == Message(role="assistant", content=content)


def test_arguments_sent_as_an_object_become_their_json_text() -> None:
    calls = [{"function": {"name": "x", "arguments": {"n": 1}}}]
    reply = reply_to(Completion(message={"content": "", "tool_calls": calls}))
    assert reply.message.content is None
    assert reply.message.tool_calls == (
        ToolCall(id="call_0_0", function=FunctionCall(name="x", arguments='{"n": 1}')),
    )


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": None}])
def test_a_reply_without_usage_counts_as_nothing(usage: Any) -> None:
    document = Completion("42").document() | {"usage": usage}
    assert reply_to(Raw(json.dumps(document).encode())).usage == Usage()


def test_a_text_that_reached_the_token_limit_is_kept() -> None:
    assert reply_to(Completion("It is 4", finish_reason="length")).message.content == "It is 4"


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (failure(401, "Incorrect API key."), "model_key_rejected", "Incorrect API key."),
        (failure(403, "Not in your country."), "model_key_rejected", "Not in your country."),
        (failure(404, "The model `x` does not exist"), "model_not_found", "does not exist"),
        (Raw(b"<html>Not here</html>", 404), "model_not_found", "404"),
        (failure(400, "maximum context length is 8192 tokens"), "model_bad_request", "8192 tokens"),
        (failure(422, "x" * 5000), "model_bad_request", "…"),
        (Raw(b'{"detail": "no such field"}', 422), "model_bad_request", "no such field"),
        (failure(429, "You exceeded your quota", "insufficient_quota"), "model_rate_limited", "quota"),
        (failure(503, "closed", x_should_retry="false"), "model_overloaded", "closed"),
        (Completion(finish_reason="length"), "model_malformed_reply", "token limit"),
        (Completion(finish_reason="content_filter"), "model_refused", "content filter"),
        (Completion(message={"content": None, "refusal": "I won't."}), "model_refused", "I won't."),
        (Raw(b'{"error": {"code": 400, "message": "bad tool"}}'), "model_bad_request", "bad tool"),
    ],
)
def test_what_trying_again_cannot_mend_is_told_at_once(answer: Answer, code: str, says: str) -> None:
    problem = problem_of(answer)
    assert problem.code == code
    assert says in problem.message
    assert len(problem.message) < 500


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


def test_a_provider_that_sends_blanks_and_then_nothing_is_left_at_the_deadline() -> None:
    assert problem_of(Hang(blanks=20), timeout_s=0.5).code == "model_timeout"


def test_an_attempt_that_hangs_is_tried_again_where_time_is_left() -> None:
    outcome, server = answered([Hang(), Hang(blanks=3), Completion("42")], attempt_s=0.3)
    assert isinstance(outcome, ModelReply), outcome
    assert len(server.received) == 3


def test_no_time_at_all_asks_nobody() -> None:
    outcome, server = answered([Completion("42")], timeout_s=0)
    assert isinstance(outcome, Problem)
    assert (outcome.code, server.received) == ("model_timeout", [])


def test_an_address_where_nobody_listens_is_named() -> None:
    with ModelServer() as server:
        address = server.base_url
    model = OpenAIModel(SecretStr(KEY), address, MODEL, max_retries=1, backoff_s=0.001)
    outcome = model.reply(ASKED, (), timeout_s=30)
    assert isinstance(outcome, Problem)
    assert outcome.code == "model_unreachable"
    assert address in outcome.message
    assert "LLM_API_BASE_URL" in outcome.fix


@pytest.mark.parametrize(
    "address",
    [
        "",
        "api.example.org/v1",
        "ftp://h/v1",
        "http://",
        "http://[::1",
        "http://h:x/",
        "http://a b/",
        "http://\x00",
        "http://h..x/v1",
        "http://h:0/v1",
    ],
)
def test_an_address_that_is_no_url_is_a_problem(address: str) -> None:
    outcome = OpenAIModel(SecretStr(KEY), address, MODEL).reply(ASKED, (), timeout_s=30)
    assert isinstance(outcome, Problem)
    assert outcome.code == "model_unreachable"


@pytest.mark.parametrize("key", ["", "  ", "sk-\nx", "sk-é"])
def test_a_key_that_no_header_can_carry_is_a_problem(key: str) -> None:
    outcome = OpenAIModel(SecretStr(key), "http://127.0.0.1:9/v1", MODEL).reply(ASKED, (), timeout_s=30)
    assert isinstance(outcome, Problem)
    assert outcome.code == "model_key_rejected"
    assert not key.strip() or key not in outcome.message


def test_the_key_stands_in_no_message_log_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    secret = "sk-do-not-print-me"
    caplog.set_level(logging.DEBUG)
    with ModelServer([Completion("never")]) as server:
        model = model_of(server, key=f"{secret}\n")
        outcome = model.reply(ASKED, (), timeout_s=30)
    assert isinstance(outcome, Problem)
    assert server.received[0].headers["authorization"] == f"Bearer {secret}"
    assert "Incorrect API key provided: [key]" in outcome.message
    logged = "\n".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    assert "127.0.0.1" in logged
    for shown in (logged, str(outcome), repr(outcome), repr(model), str(vars(model)), repr(model._client)):
        assert secret not in shown


def test_many_threads_share_one_model_and_each_gets_its_own_answer() -> None:
    turns = count()

    def moody(request: dict[str, Any]) -> Answer:
        if next(turns) % 5 == 0:
            return failure(503, retry_after_ms="20")
        return Completion(f"echo {request['messages'][-1]['content']}", delay_s=0.05)

    with ModelServer(moody) as server, ThreadPoolExecutor(64) as threads:
        model = model_of(server, max_retries=100)
        asked = [f"question {n}" for n in range(256)]
        replies = list(threads.map(lambda text: model.reply(opening(text), TOOLS, timeout_s=60), asked))
        connections = len(server.connections)
    texts = [reply.message.content for reply in replies if isinstance(reply, ModelReply)]
    assert texts == [f"echo {text}" for text in asked]
    assert connections <= 64, "connections are used again"


def test_the_sdk_is_imported_by_preload_and_not_before() -> None:
    script = """
import sys, threading
from pydantic import SecretStr
from skillfleet.llm.openai import OpenAIModel
model = OpenAIModel(SecretStr("sk-x"), "http://127.0.0.1:9/v1", "m")
assert "openai" not in sys.modules
thread = threading.Thread(target=model.preload)
thread.start(); thread.join()
assert "openai" in sys.modules and model._client is not None
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
