"""Every adapter to a provider: what comes without end is read only so far."""

import gzip
import json
from collections.abc import Iterator

import httpx2
import pytest
from pydantic import SecretStr
from tests.conformance.model_sides import PROVIDERS
from tests.model_answers import MODEL, Raw
from tests.model_server import KEY, ModelServer
from tests.orchestrator.asking import ASKED

from skillfleet.conversations.limits import Problem
from skillfleet.llm import anthropic_reply, openai_reply
from skillfleet.llm.base import ModelRequest, deaf
from skillfleet.llm.bounds import MOST_BYTES, MOST_ERROR_BYTES, bound_error
from skillfleet.llm.failures import Failure
from skillfleet.llm.openai_stream import read_stream
from skillfleet.llm.replies import MOST_CALLS


class Endless(httpx2.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b"x" * 1000


def refused(seconds: float) -> httpx2.Response:
    request = httpx2.Request("POST", "http://127.0.0.1", extensions={"timeout": {"read": seconds}})
    response = httpx2.Response(500, request=request, stream=Endless())
    bound_error(response)
    return response


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("adapter", PROVIDERS)
def test_a_reply_that_unpacks_without_end_is_malformed(adapter: str, kind: str) -> None:
    packed = gzip.compress(b"data: " + b"x" * MOST_BYTES, 1)
    headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
    with ModelServer([Raw(packed, headers=headers)]) as server:
        model = PROVIDERS[adapter](SecretStr(KEY), server.base_url, MODEL, max_retries=0)
        outcome = model.reply(ModelRequest(ASKED, (), 30))
    assert isinstance(outcome, Problem)
    assert "more than 32 MB" in outcome.message


def test_of_an_error_without_end_the_beginning_is_read() -> None:
    assert len(refused(60).read()) == MOST_ERROR_BYTES


def test_an_error_is_read_no_longer_than_the_request_may_take() -> None:
    assert len(refused(0).read()) == 1000


def test_a_reply_of_far_too_many_calls_is_malformed() -> None:
    function = {"name": "x", "arguments": "{}"}
    calls = [{"index": at, "id": str(at), "function": function} for at in range(MOST_CALLS + 2)]
    chunks = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    ending = {"choices": [{"finish_reason": "tool_calls"}]}
    blocks = [{"type": "tool_use", "id": call["id"], "name": "x", "input": {}} for call in calls]
    for outcome in (
        read_stream([("", json.dumps(chunk)) for chunk in (*chunks, ending)], (), deaf),
        openai_reply.read_document({"choices": [{"message": {"tool_calls": calls}}]}, ()),
        anthropic_reply.read_document({"content": blocks}, ()),
    ):
        assert isinstance(outcome, Failure)
        assert f"more than {MOST_CALLS} tool calls" in outcome.problem.message
