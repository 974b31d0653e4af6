"""An open conversation that an earlier release left in redis, key by key, is taken up and brought to its end.

It stands in its second turn, with three calls out: one has its result, one was started by a worker that is gone, one
was never started.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.orchestrator.driver_parts import running

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.driver import Driver
from skillfleet.conversations.ledger import FORMAT, Claim
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOMS, Rooms
from skillfleet.events import EventType, LiveType
from skillfleet.llm.scripted import ScriptedModel
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.calls import CallLedger, CallResult
from skillfleet_workers.wire.connection import RedisUrls

STORED = sorted((Path(__file__).parent / "recorded").glob("v*/stored-conversation.json"))
NAME, FLEET = "0199f000000011223344", "recorded"
PATIENCE_S = 30.0


def stored_id(path: Path) -> str:
    return path.parent.name


@pytest.fixture(params=STORED, ids=stored_id)
def stored(request: pytest.FixtureRequest) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(request.param.read_text())
    return recorded


@pytest.fixture
def ledger(stored: dict[str, Any], redis_urls: RedisUrls) -> Iterator[RedisLedger]:
    """With all of it, as if it had been accepted now."""
    found = RedisLedger(redis_urls, FLEET)
    with found.client as client:
        pipe = client.pipeline()
        for name, key in stored.items():
            match key["type"]:
                case "hash":
                    pipe.hset(name, mapping=key["value"])
                case "stream":
                    for cursor, fields in key["value"]:
                        pipe.xadd(name, fields, id=cursor)
                case "zset":
                    pipe.zadd(name, key["value"])
                case "set":
                    pipe.sadd(name, *key["value"])
                case "string":
                    pipe.set(name, key["value"])
        now = int(time.time() * 1000)
        pipe.hset(keys.state(NAME), mapping={"created": now, "deadline": now + 600_000})
        pipe.zadd(keys.FleetKeys(FLEET).due, {NAME: now})
        pipe.execute()
        yield found


class Worker:
    """Takes every call that is sent, at once."""

    def __init__(self, calls: CallLedger) -> None:
        self._calls = calls
        self.ran: list[str] = []

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        if self._calls.claim(run.ref, "today") != "claimed":
            return  # hints may come twice
        self.ran.append(f"{run.name} {run.ref.attempt}")
        result = CallResult(status="succeeded", shown=f"result of {run.key}", worker="today")
        assert self._calls.commit(run.ref, result) == "recorded"

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        return ""

    def queue_empty(self, route: str) -> bool:
        return True

    def rooms(self, call_s: float) -> Rooms:
        return LEAST_ROOMS

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        return ""


@contextmanager
def driving(ledger: RedisLedger, worker: Worker) -> Iterator[None]:
    driver = Driver(ledger, Asking(lambda spec: ScriptedModel.of(spec.script or {})), worker, slots=1)
    with running(driver):
        yield


def test_it_is_brought_to_its_end_and_what_was_done_is_not_done_again(ledger: RedisLedger) -> None:
    worker = Worker(CallLedger(ledger.client))
    before = ledger.load(NAME)
    assert before is not None
    assert (before.status, before.turn, len(before.out)) == ("running", 2, 3)
    with driving(ledger, worker):
        give_up = time.monotonic() + PATIENCE_S
        while not ledger.ended(NAME, 1.0):
            assert time.monotonic() < give_up
    after = ledger.load(NAME)
    assert after is not None
    assert (after.status, after.answer) == ("completed", "All done.")
    assert after.messages[: len(before.messages)] == before.messages
    assert (after.snapshot, after.used) == (before.snapshot, before.used)
    assert sorted(worker.ran) == ["list_skills 1", "run_python_script 2"]
    answers = [message.content for message in after.messages if message.role == "tool"][-3:]
    assert answers == ['{"status": "succeeded"}', "result of 2.1", "result of 2.2"]


def test_a_conversation_in_the_format_of_today_is_recorded() -> None:
    newest = json.loads(STORED[-1].read_text())[keys.state(NAME)]["value"]
    assert json.loads(newest["state"])["format"] == FORMAT


def test_its_events_are_read_without_a_gap_and_go_on_so(ledger: RedisLedger) -> None:
    recorded = len(ledger.entries(NAME, "0", 0))
    with driving(ledger, Worker(CallLedger(ledger.client))):
        give_up = time.monotonic() + PATIENCE_S
        while not ledger.ended(NAME, 1.0):
            assert time.monotonic() < give_up
    told = ledger.entries(NAME, "0", 0)
    assert recorded > 10
    assert [entry.seq for entry in told] == list(range(1, len(told) + 1))
    assert [entry.type for entry in told].count("ended") == 1
    assert {entry.type for entry in told} <= {*get_args(EventType), *get_args(LiveType)}


def test_its_idempotency_key_still_names_it(ledger: RedisLedger) -> None:
    claim = ledger.claim(NAME)
    assert isinstance(claim, Claim)
    again = claim.conversation.spec.model_copy(update={"id": "another"})
    (accepted,) = ledger.submit(again)
    assert accepted.id == NAME
