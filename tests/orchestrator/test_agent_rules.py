"""What seed 002 allows of subagents and of messages: at each limit, under it and over it."""

import math
import re
import uuid
from typing import Any

import pytest
from pydantic import ValidationError

from skillfleet.subagents.mailbox import MAX_PAYLOAD_BYTES, PATTERN, AgentMessage
from skillfleet.subagents.models import AgentSpec
from skillfleet.tools.own import SpawnSubagent
from skillfleet_workers.wire.uuids import is_uuid4, uuid_of

ID, OTHER = uuid_of("a message"), uuid_of("a request")
DIRECT: dict[str, Any] = {
    "message_id": ID, "sender_id": "c1", "recipient_id": "c2", "message_type": "event", "payload": {"n": 1},
}  # fmt: skip
BROADCAST: dict[str, Any] = {**DIRECT, "recipient_id": None, "topic": "navigation.complete"}


def refused(form: type[AgentSpec | AgentMessage | SpawnSubagent], given: dict[str, Any]) -> str:
    """Why; empty: it is not."""
    try:
        form.model_validate(given)
    except ValidationError as wrong:
        return wrong.errors(include_url=False)[0]["msg"]
    return ""


@pytest.mark.parametrize("form", [AgentSpec, SpawnSubagent])
def test_a_name_has_at_most_100_characters(form: type[AgentSpec | SpawnSubagent]) -> None:
    assert [bool(refused(form, {"name": "n" * length})) for length in (0, 99, 100, 101)] == [
        False,
        False,
        False,
        True,
    ]


def test_metadata_have_at_most_20_keys() -> None:
    sizes = (0, 19, 20, 21)
    told = [refused(AgentSpec, {"metadata": {str(key): key for key in range(size)}}) for size in sizes]
    assert [bool(why) for why in told] == [False, False, False, True]
    assert "20" in told[-1] and "21" in told[-1]


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        *(("ttl", value, 1 <= value <= 3600) for value in (-1, 0, 1, 2, 60, 3599, 3600, 3601)),
        *(("priority", value, 1 <= value <= 10) for value in (0, 1, 2, 9, 10, 11)),
        ("message_type", "error", True),
        ("message_type", "shout", False),
        ("sender_id", "system", True),
        ("sender_id", "", False),
        ("payload", {}, True),
        ("payload", [1], False),
        ("payload", "text", False),
        ("message_id", "req-123", False),
        ("message_id", "2c1b5e0e-e6b2-11f1-957d-02fc00000001", False),
        ("message_id", ID.replace("-", ""), False),
        ("correlation_id", OTHER, True),
        ("correlation_id", "corr-456", False),
    ],
)
def test_a_field_of_a_message_is_held_to_its_range(field: str, value: object, allowed: bool) -> None:
    assert (refused(AgentMessage, DIRECT | {field: value}) == "") == allowed


def test_a_message_has_the_seed_s_defaults() -> None:
    message = AgentMessage.model_validate(DIRECT)
    assert (message.ttl, message.priority, message.topic, message.correlation_id) == (60, 5, None, None)


@pytest.mark.parametrize("character", ["x", "é"])
def test_a_payload_is_measured_in_bytes(character: str) -> None:
    room = MAX_PAYLOAD_BYTES - len('{"t": ""}')
    text = character * (room // len(character.encode()))
    assert refused(AgentMessage, DIRECT | {"payload": {"t": text}}) == ""
    why = refused(AgentMessage, DIRECT | {"payload": {"t": text + character}})
    assert str(MAX_PAYLOAD_BYTES) in why and "bytes" in why


@pytest.mark.parametrize("value", [math.nan, -math.inf, "\ud800"])
def test_a_payload_is_what_json_can_carry(value: object) -> None:
    assert "which JSON cannot carry" in refused(AgentMessage, {**DIRECT, "payload": {"found": [{"at": value}]}})
    assert not refused(AgentMessage, {**DIRECT, "payload": {"found": [1e308, None, "\0", 10**400]}})


def test_a_payload_is_nested_100_levels_deep_at_most() -> None:
    told = [refused(AgentMessage, {**DIRECT, "payload": {"a": nested(levels)}}) for levels in (99, 100)]
    assert [bool(why) for why in told] == [False, True] and "nested too deep" in told[1]


def nested(levels: int) -> list[Any]:
    """With the payload around it one more."""
    return [nested(levels - 1)] if levels > 1 else []


def test_a_message_goes_to_a_topic_or_to_a_recipient_and_not_to_both() -> None:
    assert refused(AgentMessage, DIRECT) == refused(AgentMessage, BROADCAST) == ""
    assert "either" in refused(AgentMessage, DIRECT | {"topic": "a.b"})
    assert "either" in refused(AgentMessage, DIRECT | {"recipient_id": None})


@pytest.mark.parametrize("kind", ["request", "response", "error"])
def test_only_events_are_broadcast(kind: str) -> None:
    assert "only events" in refused(AgentMessage, BROADCAST | {"message_type": kind, "correlation_id": OTHER})


@pytest.mark.parametrize(
    ("kind", "needs"), [("event", False), ("error", False), ("request", True), ("response", True)]
)
def test_requests_and_responses_are_linked_by_a_correlation_id(kind: str, needs: bool) -> None:
    assert ("correlation_id" in refused(AgentMessage, DIRECT | {"message_type": kind})) == needs
    assert refused(AgentMessage, DIRECT | {"message_type": kind, "correlation_id": OTHER}) == ""


@pytest.mark.parametrize(
    ("topic", "allowed"),
    [
        ("a", True),
        ("navigation.complete", True),
        ("t" * 200, True),
        ("t" * 201, False),
        ("", False),
        ("a.", False),
        (".a", False),
        ("a..b", False),
        ("a b", False),
        ("a\n", False),
        ("navigation.*", False),
        ("ä", False),
    ],
)
def test_a_topic_is_words_with_dots_between_them(topic: str, allowed: bool) -> None:
    assert (refused(AgentMessage, BROADCAST | {"topic": topic}) == "") == allowed


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        ("*", True),
        ("navigation.*", True),
        ("*.complete", True),
        ("a.b", True),
        ("nav*", False),
        ("a.", False),
        ("**", False),
    ],
)
def test_a_pattern_is_a_topic_in_which_a_star_stands_for_a_word(pattern: str, allowed: bool) -> None:
    assert bool(re.fullmatch(PATTERN, pattern)) == allowed


def test_an_id_made_of_a_text_is_a_uuid_of_version_4_and_always_the_same() -> None:
    made = [uuid_of(f"{number}") for number in range(200)]
    assert len(set(made)) == 200 and all(map(is_uuid4, made))
    assert made[0] == uuid_of("0")
    assert is_uuid4(str(uuid.uuid4()))
