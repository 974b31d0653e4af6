"""What those who follow see while it happens: a stream of its own, bounded, that events do not depend on."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.conformance.ledgers import DONE, TTL_S, WORLDS, World, claimed, commit_steps, sequence, submitted
from tests.conversation_steps import asks, list_skills, make_spec, says

from skillfleet.conversations.ledger import LiveWords
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import Submitted, ToolFinished
from skillfleet.errors import BadRequestError
from skillfleet.events import Entry, LiveTold, Position, again, arguments, token
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.execution import Output
from skillfleet_workers.wire.keys import LIVE_ENDED_S, LIVE_ENTRIES, LIVE_S, LIVE_WORDS

FIRST = CallRef(conversation_id="c1", turn=1, index=0)
AGAIN = FIRST.model_copy(update={"attempt": 2})
HALF_WAY = Output("stdout", "half way\n", 3)


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def call_out(world: World) -> Conversation:
    world.ledger.submit(make_spec(timeout_s=10 * LIVE_S))
    return commit_steps(world, claimed(world), Submitted(), asks(list_skills()), due_in=0)


def both(world: World, after: str = "0", live: str = "0") -> list[Entry]:
    return world.ledger.entries("c1", after, 0, live)


def lives(world: World, after: str = "0") -> list[Entry]:
    return [entry for entry in both(world, live=after) if entry.live]


def test_what_a_call_tells_goes_to_the_live_stream_while_its_attempt_is_wanted(world: World) -> None:
    call_out(world)
    assert not world.calls.progress(FIRST, "not begun")
    world.calls.claim(FIRST, "w1")
    before = sequence(world)
    assert world.calls.progress(FIRST, "Resolved 6 packages")
    assert world.calls.output(FIRST, HALF_WAY)
    assert sequence(world) == before
    world.calls.claim(AGAIN, "w2")
    assert not world.calls.progress(FIRST, "too late")
    assert not world.calls.output(FIRST, HALF_WAY)
    world.ledger.cancel("c1")
    assert not world.calls.output(AGAIN, HALF_WAY)
    assert [(entry.type, entry.data) for entry in lives(world)] == [
        ("progress", {"key": "1.0", "text": "Resolved 6 packages"}),
        ("output", {"key": "1.0", "stream": "stdout", "text": "half way\n", "skipped": 3}),
    ]


def says_live(world: World, fence: int, *told: LiveTold, name: str = "c1") -> bool:
    (wanted,) = world.ledger.tell_live(LiveWords(name, fence, told))
    return wanted


def test_what_the_model_says_is_told_live_by_whoever_holds_the_conversation(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    commit_steps(world, claim, Submitted())
    before = sequence(world)
    assert says_live(world, claim.fence, token(1, 1, 0, "It "), token(1, 1, 3, "is", 1))
    assert not says_live(world, claim.fence - 1, token(1, 1, 0, "never"))
    assert not says_live(world, 1, token(1, 1, 0, "never"), name="nobody")
    assert sequence(world) == before
    world.ledger.cancel("c1")
    assert not says_live(world, claim.fence, token(1, 1, 5, "too late"))
    told = lives(world)
    assert [(entry.type, entry.data) for entry in told] == [
        ("token", {"turn": 1, "attempt": 1, "at": 0, "text": "It ", "skipped": 0}),
        ("token", {"turn": 1, "attempt": 1, "at": 3, "text": "is", "skipped": 1}),
    ]
    assert {entry.seq for entry in told} == {before[-1][0]}


def test_many_conversations_are_told_of_at_once_each_as_far_as_it_is_wanted(world: World) -> None:
    fences = {}
    for name in ("c1", "c2", "c3"):
        submitted(world, name)
        fences[name] = claimed(world, name).fence
    world.ledger.cancel("c2")
    words = [LiveWords(name, fence, [again(1, 2), token(1, 2, 0, name)]) for name, fence in fences.items()]
    stale = LiveWords("c3", fences["c3"] - 1, [token(1, 1, 0, "stale")])
    named = LiveWords("c1", fences["c1"], [arguments(1, 2, 0, "find", 0, "{")])
    assert world.ledger.tell_live(*words, stale, named) == [True, False, True, False, True]
    assert world.ledger.tell_live() == []
    told = {name: world.ledger.entries(name, "0", 0, "0") for name in fences}
    texts = {name: [entry.data.get("text") for entry in entries if entry.live] for name, entries in told.items()}
    assert texts == {"c1": [None, "c1", "{"], "c2": [], "c3": [None, "c3"]}


def test_a_live_entry_stands_after_the_event_that_it_came_after(world: World) -> None:
    a_story_with_both(world)
    told = both(world)
    begun = next(place for place, entry in enumerate(told) if entry.type == "started")
    assert [entry.type for entry in told[begun:]] == [
        "started", "progress", "output", "result", "message", "turn", "token", "token", "message", "ended",
    ]  # fmt: skip
    assert [entry.seq for entry in told] == sorted(entry.seq for entry in told)
    assert [entry for entry in told if not entry.live] == world.ledger.entries("c1", "0", 0)


def a_story_with_both(world: World) -> None:
    call_out(world)
    world.calls.claim(FIRST, "w1")
    world.calls.progress(FIRST, "Resolved 6 packages")
    world.calls.output(FIRST, HALF_WAY)
    world.calls.commit(FIRST, DONE)
    claim = claimed(world)
    after = commit_steps(world, claim, ToolFinished(FIRST.key, "succeeded", "x", "w1"))
    says_live(world, claim.fence, token(2, 1, 0, "It "), token(2, 1, 3, "is"))
    commit_steps(world, claim, says("It is"), before=after)


@pytest.mark.parametrize("live", [True, False])
def test_a_follower_that_comes_back_at_any_entry_sees_each_once_and_in_order(world: World, live: bool) -> None:
    a_story_with_both(world)

    def read(after: str) -> list[Entry]:
        position = Position.at(after, live=live)
        return [position.passed(entry) for entry in world.ledger.entries("c1", position.events, 0, position.live)]

    whole = read("0")
    assert len(whole) == (16 if live else 12)
    for cut, entry in enumerate(whole, start=1):
        assert read(entry.cursor) == whole[cut:]


def test_however_much_is_told_live_no_event_goes_and_the_newest_stays(world: World) -> None:
    submitted(world)
    claim = claimed(world)
    before = sequence(world)
    for first in range(0, 2 * LIVE_WORDS, 1000):
        assert says_live(world, claim.fence, *(token(1, 1, n, str(n)) for n in range(first, first + 1000)))
    kept = lives(world)
    assert LIVE_WORDS <= len(kept) < 1.2 * LIVE_WORDS
    assert kept[-1].data["text"] == str(2 * LIVE_WORDS - 1)
    assert sequence(world) == before


def test_of_what_scripts_write_less_is_kept_than_of_what_models_say(world: World) -> None:
    call_out(world)
    claim = claimed(world)
    assert says_live(world, claim.fence, *(token(1, 1, n, "x") for n in range(LIVE_WORDS)))
    world.calls.claim(FIRST, "w1")
    assert world.calls.output(FIRST, HALF_WAY)
    assert LIVE_ENTRIES <= len(lives(world)) < 1.2 * LIVE_ENTRIES


def test_the_live_stream_goes_a_while_after_its_last_entry_and_a_new_one_begins(world: World) -> None:
    call_out(world)
    world.calls.claim(FIRST, "w1")
    world.calls.output(FIRST, HALF_WAY)
    world.pass_time(LIVE_S - 10)
    world.calls.progress(FIRST, "later")
    world.pass_time(LIVE_S - 10)
    seen = lives(world)
    assert [entry.type for entry in seen] == ["output", "progress"]
    world.pass_time(20)
    assert lives(world) == []
    world.calls.output(FIRST, HALF_WAY)
    assert [entry.data["text"] for entry in lives(world, seen[-1].cursor)] == ["half way\n"]


def test_the_live_stream_goes_soon_after_the_end_and_before_its_conversation(world: World) -> None:
    a_story_with_both(world)
    assert lives(world)
    world.pass_time(LIVE_ENDED_S + 1)
    assert lives(world) == []
    assert world.ledger.load("c1") is not None
    world.pass_time(TTL_S)
    assert both(world) == []


def test_a_follower_of_both_waits_for_either(world: World) -> None:
    call_out(world)
    world.calls.claim(FIRST, "w1")
    cursor = both(world)[-1].cursor
    with ThreadPoolExecutor(1) as threads:
        follower = threads.submit(world.ledger.entries, "c1", cursor, 5, "0")
        world.calls.output(FIRST, HALF_WAY)
        assert [entry.type for entry in follower.result(10)] == ["output"]
        live = lives(world)[-1].cursor
        follower = threads.submit(world.ledger.entries, "c1", cursor, 5, live)
        world.calls.commit(FIRST, DONE)
        assert [entry.type for entry in follower.result(10)] == ["result"]


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("cursor", ["foo", "", "/", "/0", "0/", "1-1/x", "x/1-1", "1-", "-1", "1-1-1", "1/2/3"])
def test_what_is_no_cursor_is_refused_in_one_line(cursor: str, live: bool) -> None:
    refused_as_cursor(cursor, live)


@pytest.mark.parametrize("cursor", [">", "$", "+", "1 ", "1\n", "١", "9" * 20])
def test_what_redis_alone_or_python_alone_would_take_for_a_cursor_is_refused(cursor: str) -> None:
    refused_as_cursor(cursor, True)


def refused_as_cursor(cursor: str, live: bool) -> None:
    with pytest.raises(BadRequestError) as refused:
        Position.at(cursor, live=live)
    assert repr(cursor) in str(refused.value)
    assert "\n" not in str(refused.value)
