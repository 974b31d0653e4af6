"""Arguments that are too big for a message."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery.exceptions import Ignore
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, run_python

from skillfleet.conversations.moves import CancelRequested, Submitted
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.tasks import CallRunner
from skillfleet_workers.terms import task_terms
from skillfleet_workers.tools import CallContext
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.blobs import INLINE_BYTES, Blobs
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import RUN_PYTHON, CallMessage, CallRef, RunPythonScript
from skillfleet_workers.wire.execution import ScriptExecution

CALL = CallRef(conversation_id="c1", turn=1, index=0)
TTL_S = 60
FOREVER, GONE = -1, -2
"""Of `TTL`: never expires; is not there."""

LONG = "x = 'é漢🦊'\n" * (INLINE_BYTES // 10)


@pytest.fixture
def world(redis_urls: RedisUrls) -> Iterator[RedisWorld]:
    """With the one call of a turn out."""
    world = RedisWorld(redis_urls)
    with world.client, world.ledger.client:
        submitted(world)
        commit_steps(world, claimed(world), Submitted(), asks(run_python()), due_in=60)
        yield world


def message(**request: Any) -> CallMessage:
    return CallMessage(ref=CALL, request={"skill_name": "lab", **request})


@pytest.mark.parametrize("big", [{"script": LONG}, {"arguments": {"rows": [LONG] * 3}}, {"a": LONG, "b": LONG + "!"}])
def test_what_is_big_travels_by_reference_and_arrives_whole(world: RedisWorld, big: dict[str, Any]) -> None:
    blobs = Blobs(world.client, TTL_S)
    sent = blobs.referred(message(**big))
    assert len(sent.model_dump_json()) < 1000
    assert sent.request == {"skill_name": "lab"}
    assert {world.client.ttl(key) for key in sent.references.values()} == {FOREVER}
    assert blobs.resolved(CallMessage.model_validate_json(sent.model_dump_json())) == message(**big)


def test_what_fits_into_the_message_stays_there(world: RedisWorld) -> None:
    fits = message(script="x" * (INLINE_BYTES - 2))
    assert Blobs(world.client, TTL_S).referred(fits) == fits
    assert list(world.client.scan_iter(keys.blob("c1", "*"))) == []


def test_a_call_that_is_sent_again_stores_its_payload_once(world: RedisWorld) -> None:
    blobs = Blobs(world.client, TTL_S)
    assert blobs.referred(message(script=LONG)) == blobs.referred(message(script=LONG))
    assert len(list(world.client.scan_iter(keys.blob("c1", "*")))) == 1


def test_what_was_stored_for_a_conversation_expires_when_the_conversation_does(world: RedisWorld) -> None:
    blobs = Blobs(world.client, TTL_S)
    stored = [*blobs.referred(message(a=LONG, b=LONG + "!")).references.values()]
    assert blobs.referred(message(a=LONG)).references["a"] in stored
    world.ledger.cancel("c1")
    commit_steps(world, claimed(world), CancelRequested())
    left = [world.client.ttl(key) for key in (*stored, keys.state("c1"))]
    assert GONE not in left
    assert max(left) - min(left) <= 1
    assert FOREVER not in left


@pytest.mark.parametrize("ended", ["c1", "never was"])
def test_what_is_stored_too_late_expires_by_itself(world: RedisWorld, ended: str) -> None:
    world.ledger.cancel("c1")
    commit_steps(world, claimed(world), CancelRequested())
    ref = CALL.model_copy(update={"conversation_id": ended})
    sent = Blobs(world.client, TTL_S).referred(CallMessage(ref=ref, request={"script": LONG}))
    assert 0 < world.client.ttl(sent.references["script"]) <= TTL_S


def test_a_worker_runs_what_was_referred_to_and_leaves_alone_what_is_gone(world: RedisWorld) -> None:
    blobs = Blobs(world.client, TTL_S)
    runner = CallRunner(world.calls, Heartbeat(world.calls), "w1", task_terms, blobs)
    seen: list[str] = []

    def tool(request: RunPythonScript, context: CallContext) -> ScriptExecution:
        seen.append(request.script)
        return ScriptExecution(status="succeeded", returncode=0)

    sent = blobs.referred(message(script=LONG))
    world.client.delete(*sent.references.values())
    with pytest.raises(Ignore):
        runner.run(RUN_PYTHON, tool, sent)
    runner.run(RUN_PYTHON, tool, blobs.referred(message(script=LONG)))
    assert seen == [LONG]
