"""Every adapter to a provider: its key stands nowhere but in the header of a request."""

import logging

import pytest
from pydantic import SecretStr
from tests.conformance.model_sides import PROVIDERS
from tests.model_answers import MODEL, Completion, Raw, failure
from tests.model_server import ModelServer
from tests.orchestrator.asking import ASKED

from skillfleet.conversations.limits import Problem
from skillfleet.llm.base import ModelReply, ModelRequest, Piece, Said

SECRET = "sk-" + "0123456789" * 10
HEADER = {"openai": {"authorization": f"Bearer {SECRET}"}, "anthropic": {"x-api-key": SECRET}}
"""Where each provider's documentation has it."""


@pytest.mark.parametrize("adapter", PROVIDERS)
def test_the_key_stands_in_no_message_log_or_repr(caplog: pytest.LogCaptureFixture, adapter: str) -> None:
    caplog.set_level(logging.DEBUG)
    with ModelServer([Completion("never")]) as server:
        model = PROVIDERS[adapter](SecretStr(f"{SECRET}\n"), server.base_url, MODEL)
        outcome = model.reply(ModelRequest(ASKED, (), 30))
    assert isinstance(outcome, Problem)
    headers = server.received[0].headers
    sent = {name: headers.get(name) for name in ("authorization", "x-api-key")}
    assert sent == {"authorization": None, "x-api-key": None} | HEADER[adapter]
    assert "Incorrect API key provided: [key]" in outcome.message
    logged = "\n".join(f"{record.getMessage()} {record.args}" for record in caplog.records)
    assert "127.0.0.1" in logged
    for shown in (logged, str(outcome), repr(outcome), repr(model), str(vars(model)), repr(model._wire)):
        assert SECRET not in shown


@pytest.mark.parametrize("adapter", PROVIDERS)
def test_a_key_deep_in_a_long_error_is_gone_before_the_error_is_cut_to_length(adapter: str) -> None:
    with ModelServer([failure(400, "x" * 250 + SECRET)], key=SECRET) as server:
        model = PROVIDERS[adapter](SecretStr(SECRET), server.base_url, MODEL)
        outcome = model.reply(ModelRequest(ASKED, (), 30))
    assert isinstance(outcome, Problem)
    assert "x[key]" in outcome.message
    assert SECRET[:10] not in outcome.message


@pytest.mark.parametrize("adapter", PROVIDERS)
def test_a_key_in_a_stream_is_heard_by_nobody(adapter: str) -> None:
    heard: list[Piece] = []
    with ModelServer([Completion("k" * 7 + "sk-test")], key="sk-test") as server:
        outcome = PROVIDERS[adapter](SecretStr("sk-test"), server.base_url, MODEL).reply(
            ModelRequest(ASKED, (), 30), heard.append
        )
    assert isinstance(outcome, ModelReply)
    assert outcome.message.content == "k" * 7 + "[key]"
    assert heard == [Said("k" * 7), Said("[key]")]


@pytest.mark.parametrize("adapter", PROVIDERS)
def test_the_key_goes_to_nobody_whom_an_answer_names(adapter: str) -> None:
    with ModelServer(key=None) as other:
        elsewhere = f"{other.base_url.replace('127.0.0.1', 'localhost')}/messages"
        with ModelServer([Raw(b"", status=307, headers={"Location": elsewhere})], key=SECRET) as server:
            model = PROVIDERS[adapter](SecretStr(SECRET), server.base_url, MODEL, max_retries=0)
            assert isinstance(model.reply(ModelRequest(ASKED, (), 30)), Problem)
    assert SECRET not in str([received.headers for received in other.received])
