"""What the calls of a plan bring: kept for the calls that quote it, and filled into their arguments."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, call

from skillfleet.conversations.moves import CancelRequested, Submitted
from skillfleet_workers.call_context import CallContext
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.quoted import filled
from skillfleet_workers.tasks import CallRunner
from skillfleet_workers.terms import CallTerms, task_terms
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import RUN_SCRIPT, CallMessage, CallRef, RunSkillScript, ToolError
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.kept import KEPT_EVENTS_CHARS, KeptRun, KeptRuns, kept_run
from skillfleet_workers.wire.quotes import Quote

FIRST, SECOND = (CallRef(conversation_id="c1", turn=1, index=index) for index in (0, 1))
FOREVER, GONE = -1, -2


@pytest.fixture
def world(redis_urls: RedisUrls) -> Iterator[RedisWorld]:
    world = RedisWorld(redis_urls)
    with world.client, world.ledger.client:
        submitted(world)
        both = (call("run_skill_script", f"call-{n}", skill_name="lab", script="x") for n in (0, 1))
        commit_steps(world, claimed(world), Submitted(), asks(*both), due_in=60)
        yield world


def message(ref: CallRef = FIRST, quotes: tuple[Quote, ...] = (), **more: Any) -> CallMessage:
    request = {"skill_name": "lab", "script": "x", "arguments": {"n": 1, "rows": [{"was": "?"}]}}
    return CallMessage(ref=ref, request=request, quotes=quotes, **({"keeps": True, "retries": 0} | more))


def done(stdout: str = '{"n": 41, "parts": [1, {"deep": "é"}]}', **more: Any) -> ScriptExecution:
    return ScriptExecution(**({"status": "succeeded", "returncode": 0, "stdout": stdout} | more))


def run(world: RedisWorld, sent: CallMessage, result: Any = None) -> list[dict[str, Any] | None]:
    """The arguments that its script was given; none: it did not run."""
    seen: list[dict[str, Any] | None] = []

    def tool(request: RunSkillScript, context: CallContext) -> ScriptExecution | ToolError:
        seen.append(request.arguments)
        return done() if result is None else result

    runner = CallRunner(world.calls, Heartbeat(world.calls), "w1", task_terms, kept=KeptRuns(world.client))
    runner.run(RUN_SCRIPT, tool, sent)
    return seen


def shown(world: RedisWorld, ref: CallRef) -> str:
    world.pass_time(60)
    result = claimed(world).records[ref.key].result
    assert result is not None
    return result.shown


def test_a_later_call_is_given_what_an_earlier_one_has_brought(world: RedisWorld) -> None:
    run(world, message())
    quotes = (
        Quote(place=("n",), task_id=FIRST.task_id, pointer="/n"),
        Quote(place=("rows", 0, "was"), task_id=FIRST.task_id, pointer="/parts/1"),
        Quote(place=("whole",), task_id=FIRST.task_id),
        Quote(place=("nothing",)),
    )
    deep = {"deep": "é"}
    given = {"n": 41, "rows": [{"was": deep}], "whole": {"n": 41, "parts": [1, deep]}, "nothing": None}
    assert run(world, message(SECOND, quotes)) == [given]


@pytest.mark.parametrize(("pointer", "told"), [("/none", "'/none'"), ("/parts/7", "'/parts/7'")])
def test_a_value_that_is_not_there_is_an_error_and_nothing_runs(world: RedisWorld, pointer: str, told: str) -> None:
    run(world, message())
    assert (
        run(world, message(SECOND, (Quote(place=("n",), task_id=FIRST.task_id, pointer=pointer, tool="first"),)))
        == []
    )
    assert "output_without_value" in shown(world, SECOND) and told in shown(world, SECOND)
    assert "in what first has brought" in shown(world, SECOND)


def test_what_was_too_large_to_be_kept_whole_is_told_to_who_quotes_it(world: RedisWorld) -> None:
    KeptRuns(world.client).keep(FIRST, KeptRun(status="succeeded", output={"stdout": "{", "truncated": True}))
    assert run(world, message(SECOND, (Quote(place=("n",), task_id=FIRST.task_id, pointer="/n"),))) == []
    assert "output_too_large" in shown(world, SECOND)


def test_what_is_kept_no_longer_is_an_error_and_nothing_runs(world: RedisWorld) -> None:
    assert run(world, message(SECOND, (Quote(place=("n",), task_id=FIRST.task_id),))) == []
    assert "output_gone" in shown(world, SECOND)


def test_only_what_is_to_be_kept_is(world: RedisWorld) -> None:
    run(world, message(keeps=False))
    assert not world.client.exists(keys.kept("c1"))


def test_why_a_tool_failed_is_kept_too(world: RedisWorld) -> None:
    run(world, message(), done(status="failed", returncode=3, stderr="no road\n", stdout=""))
    run(world, message(SECOND), ToolError(error="script_not_found", message="There is no x.", fix="Name y."))
    kept = KeptRuns(world.client).read("c1", [FIRST.task_id, SECOND.task_id])
    assert [(one.status, one.error, one.returncode) for one in kept.values()] == [
        ("failed", "exit code 3: no road", 3),
        ("tool_error", "There is no x. Name y.", None),
    ]


def test_each_attempt_is_kept_under_its_own_name(world: RedisWorld) -> None:
    run(world, message(retries=1), done(status="failed", returncode=1, stdout=""))
    kept = KeptRuns(world.client)
    assert kept.read("c1", [FIRST.task_id, FIRST.model_copy(update={"attempt": 2}).task_id]).keys() == {FIRST.task_id}


def test_what_was_kept_expires_with_its_conversation_and_nothing_is_kept_after_its_end(world: RedisWorld) -> None:
    KeptRuns(world.client).keep(FIRST, KeptRun(status="succeeded"))
    assert world.client.ttl(keys.kept("c1")) == FOREVER
    world.ledger.cancel("c1")
    commit_steps(world, claimed(world), CancelRequested())
    left = [world.client.ttl(key) for key in (keys.kept("c1"), keys.state("c1"))]
    assert min(left) > 0 and max(left) - min(left) <= 1
    KeptRuns(world.client).keep(SECOND, KeptRun(status="succeeded"))
    assert not KeptRuns(world.client).read("c1", [SECOND.task_id])
    KeptRuns(world.client).keep(SECOND.model_copy(update={"conversation_id": "never was"}), KeptRun(status="x"))
    assert world.client.ttl(keys.kept("never was")) == GONE


@pytest.mark.parametrize(
    ("retries", "terms"),
    [(None, CallTerms("unsafe", 0)), (0, CallTerms("unsafe", 0)), (2, CallTerms("idempotent", 2))],
)
def test_who_allows_retries_says_that_a_call_may_be_run_again(retries: int | None, terms: CallTerms) -> None:
    assert task_terms(RUN_SCRIPT, message(retries=retries)) == terms


def test_a_script_by_the_protocol_brings_what_its_patches_come_to() -> None:
    state = {"version": "0", "type": "state", "state": {"a": 1}, "patches": [{"a": 1, "b": None}]}
    log = {"version": "0", "type": "log", "level": "info", "message": "x"}
    kept = kept_run(done("ignored", events=(log, state)))
    assert (kept.output, kept.patches, kept.events) == ({"a": 1}, ({"a": 1, "b": None},), (log,))
    assert kept_run(done("plain text")).output == {"stdout": "plain text"}


def test_of_many_events_the_first_are_kept_and_what_is_missing_is_told() -> None:
    events = tuple({"version": "0", "type": "log", "level": "info", "message": "x" * 900} for _ in range(500))
    kept = kept_run(done("", events=events)).events
    assert 100 < len(kept) < 300 and kept[-1] == {"version": "0", "type": "truncated", "after": len(kept) - 1}
    assert len(json.dumps(kept)) < KEPT_EVENTS_CHARS + 100


def test_arguments_are_filled_in_a_copy() -> None:
    arguments = {"rows": [1]}
    kept = {"t": KeptRun(status="succeeded", output={"list": [1]})}
    quotes = (Quote(place=("rows", 0), task_id="t", pointer="/list"),)
    one, other = filled(arguments, quotes, kept), filled(arguments, quotes, kept)
    assert one == other == {"rows": [[1]]} and arguments == {"rows": [1]}
    assert isinstance(one, dict)
    one["rows"][0].append(2)
    assert kept["t"].output == {"list": [1]}
