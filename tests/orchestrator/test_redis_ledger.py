"""What holds of the ledger in redis alone: its keys, and connections that break."""

from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from tests.conformance.ledgers import DONE, TTL_S, RedisWorld, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills, make_spec, run_python, says
from tests.cutting_proxy import cutting_proxy
from tests.forked_skills import ACTIVATED, activate

from skillfleet import conversations
from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import LEASE_S, Nothing
from skillfleet.conversations.models import TERMINAL, Status
from skillfleet.conversations.moves import CancelRequested, StartChild, Submitted, ToolUnstarted
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.conversations.schedule import LEAST_ROOM, Sight, observe
from skillfleet_workers import wire
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.calls import CallLedger
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef

FIRST = CallRef(conversation_id="c1", turn=1, index=0)


def test_every_key_of_an_ended_conversation_expires(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(run_python()), due_in=0)
    assert world.calls.claim(FIRST, "w1") == "claimed"
    assert world.calls.commit(FIRST, DONE) == "recorded"
    open_keys = [keys.state("c1"), keys.events("c1"), keys.calls("c1")]
    assert [world.client.ttl(key) for key in open_keys] == [-1, -1, -1]
    world.ledger.cancel("c1")
    found = claimed(world)
    ended = found.conversation.model_copy(update={"status": "cancelled"})
    assert world.ledger.commit(found.fence, ended, [], None)
    assert all(0 < world.client.ttl(key) <= TTL_S for key in open_keys)
    world.calls.claim(FIRST, "w1")
    world.calls.beat([FIRST])
    world.calls.commit(FIRST, DONE)
    world.ledger.cancel("c1")
    assert all(0 < world.client.ttl(key) <= TTL_S for key in open_keys)


def test_every_key_stands_under_the_prefix_and_nothing_outlives_the_conversation(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    world.ledger.submit(make_spec().model_copy(update={"idempotency_key": "k"}))
    commit_steps(world, claimed(world), Submitted(), says("42"))
    assert all(key.startswith(f"{keys.PREFIX}:") for key in world.client.scan_iter())
    assert world.ledger.claim() == Nothing(None)
    world.pass_time(TTL_S)
    # What stands in these is dropped once what it names is gone (tests/system/test_retention.py).
    assert set(world.client.scan_iter()) == {keys.INDEX, keys.FleetKeys("test").unarchived}


def test_one_that_cannot_be_read_keeps_no_others_from_being_listed(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    for name in ("c1", "c2"):
        submitted(world, name)
    world.client.hset(keys.state("c1"), "spec", "[" * 300)
    assert [one.id for one in world.ledger.newest(10)] == ["c2"]


def test_a_commit_whose_answer_was_lost_is_not_done_twice(redis_urls: RedisUrls, state_dir: Path) -> None:
    world = RedisWorld(redis_urls)
    with cutting_proxy(redis_urls, state_dir) as (proxy, urls):
        world.ledger = RedisLedger(urls, "test", ttl_s=TTL_S)
        submitted(world, "warm")
        commit_steps(world, claimed(world), Submitted())
        submitted(world)
        claim = claimed(world)
        begun = commit_steps(world, claim, Submitted())
        before = sequence(world)
        proxy.cut_after("a call id to be seen once")
        after = commit_steps(world, claim, asks(list_skills("a call id to be seen once")), before=begun, due_in=60)
        assert proxy.cuts == 1
        assert [kind for _, kind in sequence(world)[len(before) :]] == ["message", "call"]
        assert world.ledger.load("c1") == after


def test_a_submission_whose_answer_was_lost_is_accepted_once(redis_urls: RedisUrls, state_dir: Path) -> None:
    world = RedisWorld(redis_urls)
    submitted(world, "warm")
    with cutting_proxy(redis_urls, state_dir) as (proxy, urls):
        world.ledger = RedisLedger(urls, "test", ttl_s=TTL_S)
        proxy.cut_after("seen-once")
        submitted(world, "seen-once")
        assert proxy.cuts == 1
        stored = world.ledger.load("seen-once")
        assert stored is not None and stored.spec.created_at > 0
        assert [kind for _, kind in sequence(world, "seen-once")] == ["submitted", "message", "message"]


def test_a_worker_whose_claim_went_unanswered_has_the_call(redis_urls: RedisUrls, state_dir: Path) -> None:
    world = RedisWorld(redis_urls)
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(list_skills("a"), run_python("b")), due_in=60)
    world.calls.claim(FIRST, "w1")
    with cutting_proxy(redis_urls, state_dir) as (proxy, urls):
        calls = CallLedger(urls.client())
        proxy.cut_after("worker-seen-once")
        assert calls.claim(FIRST.model_copy(update={"index": 1}), "worker-seen-once") == "claimed"
        assert proxy.cuts == 1
    assert [kind for _, kind in sequence(world)].count("started") == 2


@pytest.mark.parametrize(
    ("field", "text"),
    [
        pytest.param("state", '{"status": "dreaming"}', id="of a newer version"),
        pytest.param("state", '{"format":1,', id="cut off"),
        pytest.param("state", "[]", id="no object"),
        pytest.param("state", '{"runs": [{}]}', id="a call without its place"),
        pytest.param("state", '{"runs": [7]}', id="a call that is a number"),
        pytest.param("spec", "{", id="a spec that is cut off"),
        pytest.param("created", None, id="no time of its submission"),
    ],
)
def test_a_conversation_that_cannot_be_read_does_not_hold_up_the_others(
    redis_urls: RedisUrls, field: str, text: str | None
) -> None:
    world = RedisWorld(redis_urls)
    submitted(world, "damaged")
    state = keys.state("damaged")
    assert world.client.hdel(state, field) if text is None else world.client.hset(state, field, text) == 0
    world.pass_time(1)
    submitted(world)
    assert world.ledger.claim() == Nothing(0.0)
    assert claimed(world).conversation.id == "c1"
    world.pass_time(LEASE_S)
    assert world.ledger.claim("damaged") == Nothing(0.0)


def test_a_call_whose_conversation_cannot_be_read_does_not_keep_the_others_from_being_sent(
    redis_urls: RedisUrls,
) -> None:
    world = RedisWorld(redis_urls)
    for name in ("damaged", "c1"):
        submitted(world, name)
        commit_steps(world, claimed(world, name), Submitted(), asks(list_skills()), due_in=60)
    assert world.client.hset(keys.state("damaged"), "state", '{"format":1,') == 0
    found = world.ledger.calls(["damaged.1.0", "c1.1.0"])
    assert [run.ref.call_id for _, run in found] == ["c1.1.0"]


def test_a_private_doorbell_is_heard_by_its_own_fleet_only(redis_urls: RedisUrls) -> None:
    ours = RedisWorld(redis_urls)
    lone = RedisLedger(redis_urls, "test", bell="lone")
    world = RedisWorld(redis_urls)
    world.ledger = lone
    submitted(world)
    assert ours.bells() == 0
    assert ours.client.llen(keys.FleetKeys("lone").bell) == 1
    assert claimed(ours).conversation.id == "c1"


def test_a_cancellation_from_another_fleet_reaches_the_workers_of_the_conversation(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(run_python()), due_in=60)
    assert RedisLedger(redis_urls, "other").cancel("c1")
    assert world.called_off() == ["c1"]


def test_a_conversation_of_an_earlier_release_is_cancelled_without_the_channel(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(run_python()), due_in=60)
    world.calls.claim(FIRST, "w1")
    world.client.hdel(keys.state("c1"), "control", "deadline")
    assert world.calls.beat([FIRST]) == []
    assert world.ledger.cancel("c1")
    assert world.called_off() == []
    assert world.calls.beat([FIRST]) == [FIRST]


def test_calls_that_wait_in_the_queue_of_a_fleet_that_is_gone_come_to_the_one_that_goes_on(
    redis_urls: RedisUrls,
) -> None:
    world = RedisWorld(redis_urls)
    lone = RedisWorld(redis_urls)
    lone.ledger = RedisLedger(redis_urls, "test", bell="lone", queue="skills.lone")
    names = [f"c{number}" for number in range(LEAST_ROOM + 1)]
    for name in names:
        submitted(lone, name)
        commit_steps(lone, claimed(lone, name), Submitted(), asks(list_skills()), due_in=60)
    world.pass_time(60)
    found = [claimed(world, name) for name in names]
    assert found[-1].released == (f"{names[-1]}.1.0",)
    for claim in found:
        commit_steps(world, claim, *([ToolUnstarted("1.0")] if claim.conversation.id != names[-1] else []), due_in=60)
    gone, ours = keys.QueueKeys("skills.lone"), keys.QueueKeys("skills.test")
    assert world.client.zcard(f"{gone.waiting}:default") == 0
    assert world.client.zcard(gone.sent) == 0
    assert world.client.zcard(ours.sent) == LEAST_ROOM


def test_the_scripts_in_redis_agree_on_what_is_terminal(redis_urls: RedisUrls) -> None:
    clock = (Path(wire.__path__[0]) / "clock.lua").read_text()
    ask = redis_urls.client().register_script(f"{clock}\nreturn terminal(ARGV[1]) and 1 or 0")
    assert {status for status in get_args(Status) if ask(args=[status])} == TERMINAL


@pytest.mark.parametrize("package", [conversations, wire])
def test_the_terminal_statuses_are_spelled_out_once(package: ModuleType) -> None:
    (folder,) = package.__path__
    spelling = {path.name for path in Path(folder).glob("*.lua") if "'expired'" in path.read_text()}
    assert spelling <= {"clock.lua"}


def test_a_parent_hears_of_a_child_whose_end_an_earlier_release_did_not_tell(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(activate()), due_in=60)
    world.calls.claim(FIRST, "w1")
    world.calls.commit(FIRST, ACTIVATED)
    parent = claimed(world)
    (result,) = observe(parent.conversation, parent.records, Sight(parent.now))
    (start,) = (one for one in step(parent.conversation, result, parent.now)[1] if isinstance(one, StartChild))
    commit_steps(world, parent, result, due_in=0)
    world.ledger.submit(start.spec)
    commit_steps(world, claimed(world, "c1"), CancelRequested())
    commit_steps(world, claimed(world, start.spec.id), CancelRequested())
    world.client.hdel(keys.calls("c1"), "1.0:child")
    world.client.hset(keys.state(start.spec.id), "outcome", '{"status": "tool_error", "shown": ""}')
    last = claimed(world, "c1")
    (told,) = observe(last.conversation, last.records, Sight(last.now))
    ended = commit_steps(world, last, told)
    assert (ended.status, ended.children[0].status) == ("cancelled", "cancelled")
