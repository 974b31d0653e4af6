"""What providers send that is no reply of theirs: told as a failure, never raised, and never counted."""

import json
from typing import Any

import pytest

from skillfleet.conversations.limits import Usage
from skillfleet.llm import anthropic_reply, anthropic_stream, openai_reply
from skillfleet.llm.base import ModelReply, deaf
from skillfleet.llm.failures import Failure

ENDING = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
TEXT = {"type": "text", "text": "x"}


def begun(index: object, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(kind: str, **sent: object) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **sent}}


@pytest.mark.parametrize(
    "events",
    [
        [begun(0, TEXT), begun("1", TEXT)],
        [begun(0, TEXT), begun(None, TEXT)],
        [begun(0, TEXT | {"text": 5})],
        [begun(0, TEXT), more("text_delta", text=5)],
        [begun(0, TEXT), more("text_delta", text=None)],
        [begun(0, {"type": "tool_use", "id": "1", "name": "x"}), more("input_json_delta", partial_json=5)],
    ],
)
def test_an_event_of_the_wrong_types_is_malformed(events: list[dict[str, Any]]) -> None:
    sent = [("", json.dumps(event)) for event in (*events, ENDING)]
    outcome = anthropic_stream.read_stream(sent, (), deaf)
    assert isinstance(outcome, Failure)
    assert outcome.problem.code == "model_malformed_reply"


def test_a_part_whose_text_is_none_is_left_out() -> None:
    message = {"content": [{"text": 5}, {"type": "text", "text": "yes"}]}
    outcome = openai_reply.read_document({"choices": [{"message": message}]}, ())
    assert isinstance(outcome, ModelReply)
    assert outcome.message.content == "yes"


@pytest.mark.parametrize("tokens", [-5, 10**400, "7", None, [1]])
def test_a_count_of_tokens_that_cannot_be_is_none(tokens: object) -> None:
    """A budget would grow by it, or could be added up no more."""
    by_openai = {"prompt_tokens": tokens, "completion_tokens": tokens}
    by_anthropic = {"input_tokens": tokens, "output_tokens": tokens, "cache_read_input_tokens": tokens}
    for outcome in (
        openai_reply.read_document({"choices": [{"message": {"content": "x"}}], "usage": by_openai}, ()),
        anthropic_reply.read_document({"content": [TEXT], "usage": by_anthropic}, ()),
    ):
        assert isinstance(outcome, ModelReply)
        assert outcome.usage == Usage()
