"""What a person may count on who pauses and resumes, or submits with an idempotency key, whichever the ledger."""

import pytest
from tests.conformance.ledgers import (
    DONE,
    TTL_S,
    WORLDS,
    World,
    claimed,
    commit_steps,
    sequence,
    submitted,
)
from tests.conversation_steps import asks, list_skills, make_spec, says

from skillfleet.conversations.ledger import LEASE_S, Nothing
from skillfleet.conversations.models import ConversationSpec
from skillfleet.conversations.moves import CancelRequested, Paused, Resumed, Submitted, ToolFinished, ToolUnstarted
from skillfleet.conversations.schedule import PAUSED_LOOK_S, Sight, observe
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import DEFAULT_TENANT, CallRef

FIRST, SECOND = (CallRef(conversation_id="c1", turn=1, index=index) for index in (0, 1))


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def calling(world: World) -> None:
    """Two calls are out, and one of them runs."""
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), asks(list_skills("a"), list_skills("b")), due_in=60)
    assert world.calls.claim(FIRST, "w1") == "claimed"


def keyed(name: str, key: str = "k", tenant: str = DEFAULT_TENANT) -> ConversationSpec:
    return make_spec(name).model_copy(update={"idempotency_key": key, "tenant": tenant})


def test_while_paused_no_call_starts_and_the_one_that_runs_finishes(world: World) -> None:
    calling(world)
    assert world.ledger.pause("c1")
    assert world.calls.claim(SECOND, "w2") == "paused"
    assert world.calls.beat([FIRST]) == []
    assert world.calls.progress(FIRST, "half way")
    assert world.calls.commit(FIRST, DONE) == "recorded"
    assert world.called_off() == []


def test_a_pause_is_looked_at_once_and_then_left_alone(world: World) -> None:
    calling(world)
    world.ledger.pause("c1")
    claim = claimed(world)
    assert claim.pause
    paused = commit_steps(world, claim, Paused(), due_in=PAUSED_LOOK_S)
    assert paused.status == "paused"
    assert world.ledger.pause("c1")
    assert isinstance(world.ledger.claim(), Nothing)


def test_what_is_resumed_goes_on_at_once_and_its_refused_calls_may_start(world: World) -> None:
    calling(world)
    world.ledger.pause("c1")
    commit_steps(world, claimed(world), Paused(), due_in=PAUSED_LOOK_S)
    world.calls.claim(SECOND, "w2")
    world.calls.commit(FIRST, DONE)
    assert world.ledger.resume("c1")
    claim = claimed(world)
    assert not claim.pause
    events = observe(claim.conversation, claim.records, Sight(claim.now))
    assert [type(event) for event in events] == [Resumed, ToolFinished, ToolUnstarted]
    assert commit_steps(world, claim, *events, due_in=60).status == "running"
    assert world.calls.claim(SECOND, "w2") == "claimed"


def test_a_model_that_thinks_is_not_disturbed_by_a_pause_and_its_reply_is_the_last_step(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    begun = commit_steps(world, claim, Submitted())
    world.ledger.pause("c1")
    assert isinstance(world.ledger.claim(), Nothing)
    assert world.ledger.renew("c1", claim.fence)
    asked = commit_steps(world, claim, asks(list_skills()), before=begun, due_in=60)
    again = claimed(world)
    assert (again.pause, again.conversation) == (True, asked)
    assert world.calls.claim(FIRST, "w1") == "paused"


def test_a_commit_that_would_ask_the_model_again_ends_the_lease_of_what_is_to_be_paused(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    begun = commit_steps(world, claim, Submitted())
    world.ledger.pause("c1")
    assert not world.ledger.commit(claim.fence, begun, [], None)
    assert not world.ledger.renew("c1", claim.fence)
    assert claimed(world).pause


def test_a_resumption_between_claim_and_commit_is_looked_at_next(world: World) -> None:
    calling(world)
    world.ledger.pause("c1")
    held = claimed(world)
    world.ledger.resume("c1")
    commit_steps(world, held, Paused(), due_in=PAUSED_LOOK_S)
    again = claimed(world)
    assert (again.pause, again.conversation.status) == (False, "paused")


def test_the_deadline_waits_for_what_is_paused(world: World) -> None:
    submitted(world)
    timeout_s = make_spec().limits.timeout_s
    world.pass_time(timeout_s / 2)
    world.ledger.pause("c1")
    commit_steps(world, claimed(world), Paused(), due_in=PAUSED_LOOK_S)
    world.pass_time(10 * timeout_s)
    assert world.ledger.resume("c1")
    claim = claimed(world)
    assert claim.conversation.paused_s == pytest.approx(10 * timeout_s, abs=5)
    commit_steps(world, claim, Resumed(), asks(list_skills()), due_in=60)
    assert world.calls.claim(FIRST, "w1") == "claimed"
    world.pass_time(timeout_s / 2)
    assert world.calls.beat([FIRST]) == [FIRST]
    assert not world.ledger.pause("c1")
    assert not world.ledger.resume("c1")


def test_what_is_paused_can_be_cancelled(world: World) -> None:
    calling(world)
    world.ledger.pause("c1")
    commit_steps(world, claimed(world), Paused(), due_in=PAUSED_LOOK_S)
    assert world.ledger.cancel("c1")
    claim = claimed(world)
    assert claim.cancel
    assert commit_steps(world, claim, CancelRequested()).status == "cancelled"
    assert [kind for _, kind in sequence(world)][-1] == "ended"


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_what_has_ended_or_is_unknown_is_neither_paused_nor_resumed(world: World, verb: str) -> None:
    submitted(world)
    commit_steps(world, claimed(world), Submitted(), says("42"))
    assert not getattr(world.ledger, verb)("c1")
    assert world.ledger.claim() == Nothing(None)
    with pytest.raises(KeyError):
        getattr(world.ledger, verb)("nobody")


def test_one_that_is_not_paused_may_be_resumed_without_effect(world: World) -> None:
    submitted(world)
    claimed(world)
    assert world.ledger.resume("c1")
    assert isinstance(world.ledger.claim(), Nothing)


def test_the_same_idempotency_key_is_the_same_conversation(world: World) -> None:
    (first,) = world.ledger.submit(keyed("c1"))
    world.pass_time(1)
    assert world.ledger.submit(keyed("c2"), keyed("c3", "other"), keyed("c4"))[::2] == [first, first]
    assert [one.id for one in world.ledger.newest(10)] == ["c3", "c1"]
    assert world.ledger.load("c2") is None


def test_an_idempotency_key_is_of_its_tenant_alone(world: World) -> None:
    specs = [keyed("c1"), keyed("c2", tenant="ann"), keyed("c3", tenant="bob")]
    # What another tenant's would be, were the two joined.
    specs += [keyed("c4", "ann:k"), keyed("c5", "bob:ann:k"), keyed("c6", "ann:k", tenant="bob")]
    names = [spec.id for spec in specs]
    assert [one.id for one in world.ledger.submit(*specs)] == names
    again = [spec.model_copy(update={"id": f"{spec.id} again"}) for spec in specs]
    assert [one.id for one in world.ledger.submit(*again)] == names


def test_an_idempotency_key_is_kept_as_long_as_its_conversation(world: World) -> None:
    world.ledger.submit(keyed("c1"))
    world.pass_time(10 * TTL_S)
    assert world.ledger.submit(keyed("c2"))[0].id == "c1"
    commit_steps(world, claimed(world), Submitted(), says("42"))
    world.pass_time(TTL_S - 10)
    assert world.ledger.submit(keyed("c3"))[0].id == "c1"
    world.pass_time(10)
    assert world.ledger.submit(keyed("c4"))[0].id == "c4"


def test_many_are_accepted_in_their_order(world: World) -> None:
    names = ["c2", "c1", "c3"]
    assert [one.id for one in world.ledger.submit(*map(make_spec, names))] == names
    assert {claimed(world).conversation.id for _ in names} == set(names)
    assert world.ledger.submit() == []
    world.pass_time(LEASE_S)


def test_a_conversation_begins_with_the_scripts_that_it_was_given(world: World) -> None:
    script = {"name": "pdf__extract", "skill_name": "pdf", "script": "scripts/extract.py"}
    spec = ConversationSpec.model_validate({**make_spec().model_dump(), "scripts": [script]})
    world.ledger.submit(spec)
    assert claimed(world).conversation.scripts == spec.scripts
