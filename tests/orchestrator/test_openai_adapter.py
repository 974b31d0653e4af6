"""openai_model: what it sends, what it understands, what it says when it can't."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from pydantic import SecretStr
from tests.model_answers import MODEL, Answer, Completion, Raw, failure
from tests.model_server import KEY, ModelServer
from tests.orchestrator.asking import ASKED, TOOLS, answered, model_of, problem_of, reply_to

from skillfleet.conversations.limits import Problem, Usage
from skillfleet.conversations.messages import (
    FunctionCall,
    Message,
    ToolCall,
)
from skillfleet.llm.base import ModelReply, ModelRequest
from skillfleet.llm.openai import openai_model
from skillfleet.llm.prompts import opening


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
        "stream": True,
        "stream_options": {"include_usage": True},
    }


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
    reply = reply_to(Completion(message=sent), streaming=False)
    assert reply.message == Message(role="assistant", content=content)


def test_arguments_sent_as_an_object_become_their_json_text() -> None:
    calls = [{"function": {"name": "x", "arguments": {"n": 1}}}]
    reply = reply_to(Completion(message={"content": "", "tool_calls": calls}), streaming=False)
    assert reply.message.content is None
    assert reply.message.tool_calls == (
        ToolCall(id="call_0_0", function=FunctionCall(name="x", arguments='{"n": 1}')),
    )


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": None}])
def test_a_reply_without_usage_counts_as_nothing(usage: Any) -> None:
    document = Completion("42").document() | {"usage": usage}
    assert reply_to(Raw(json.dumps(document).encode())).usage == Usage()


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (Raw(b"<html>Not here</html>", 404), "model_not_found", "404"),
        (failure(400, "maximum context length is 8192 tokens"), "model_context_exceeded", "8192 tokens"),
        (failure(422, "x" * 5000), "model_bad_request", "…"),
        (Raw(b'{"detail": "no such field"}', 422), "model_bad_request", "no such field"),
        (failure(429, "You exceeded your quota", "insufficient_quota"), "model_rate_limited", "quota"),
        (Completion(message={"content": None, "refusal": "I won't."}), "model_refused", "I won't."),
        (Raw(b'{"error": {"code": 400, "message": "bad tool"}}'), "model_bad_request", "bad tool"),
    ],
)
def test_what_trying_again_cannot_mend_is_told_at_once(answer: Answer, code: str, says: str) -> None:
    problem = problem_of(answer, streaming=False)
    assert problem.code == code
    assert says in problem.message
    assert len(problem.message) < 500


def test_an_address_where_nobody_listens_is_named() -> None:
    with ModelServer() as server:
        address = server.base_url
    model = openai_model(SecretStr(KEY), address, MODEL, max_retries=1, backoff_s=0.001)
    outcome = model.reply(ModelRequest(ASKED, (), 30))
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
    outcome = openai_model(SecretStr(KEY), address, MODEL).reply(ModelRequest(ASKED, (), 30))
    assert isinstance(outcome, Problem)
    assert outcome.code == "model_unreachable"


@pytest.mark.parametrize("key", ["", "  ", "sk-\nx", "sk-é"])
def test_a_key_that_no_header_can_carry_is_a_problem(key: str) -> None:
    outcome = openai_model(SecretStr(key), "http://127.0.0.1:9/v1", MODEL).reply(ModelRequest(ASKED, (), 30))
    assert isinstance(outcome, Problem)
    assert outcome.code == "model_key_rejected"
    assert not key.strip() or key not in outcome.message


def test_many_threads_share_one_model_and_each_gets_its_own_answer() -> None:
    turns = count()

    def moody(request: dict[str, Any]) -> Answer:
        if next(turns) % 5 == 0:
            return failure(503, retry_after_ms="20")
        return Completion(f"echo {request['messages'][-1]['content']}", delay_s=0.05)

    with ModelServer(moody) as server, ThreadPoolExecutor(64) as threads:
        model = model_of(server, max_retries=100)
        asked = [f"question {n}" for n in range(256)]
        replies = list(threads.map(lambda text: model.reply(ModelRequest(opening(text), TOOLS, 60)), asked))
        connections = len(server.connections)
    texts = [reply.message.content for reply in replies if isinstance(reply, ModelReply)]
    assert texts == [f"echo {text}" for text in asked]
    assert connections <= 64, "connections are used again"


def test_the_sdk_is_imported_with_the_first_reply_and_not_before() -> None:
    script = """
import sys
from pydantic import SecretStr
from skillfleet.llm.base import ModelRequest
from skillfleet.llm.prompts import opening
from skillfleet.llm.openai import openai_model
model = openai_model(SecretStr("sk-x"), "http://127.0.0.1:9/v1", "m")
assert "openai" not in sys.modules
model.reply(ModelRequest(opening("Hello?"), (), 0.5))
assert "openai" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
