"""What whoever publishes, or subscribes to a topic, may count on, whichever the ledger."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.ledgers import WORLDS, World, claimed
from tests.conformance.mail import ROOT, deliver, end, listen, message, read, store, told, tree, with_call

from skillfleet.conversations.ledger import Nothing
from skillfleet.subagents.mailbox import MAX_MAILBOX, MAX_SUBSCRIPTIONS, SYSTEM, Delivered, fits
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import CallRef
from skillfleet_workers.wire.lua import lua

CALL = CallRef(conversation_id="b", turn=1, index=0)
DONE = Delivered()


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    world = WORLDS[request.param](urls)
    tree(world, "a", "b", "c")
    return world


def subscribe(world: World, name: str, *patterns: str, root: str = ROOT) -> list[Delivered]:
    return [world.ledger.subscribe(name, pattern, root) for pattern in patterns]


def publish(world: World, number: int = 0, topic: str = "navigation.complete", sender: str = "a") -> Delivered:
    return world.ledger.deliver(message(number, topic=topic, sender_id=sender), ROOT)


def test_what_is_published_comes_to_all_that_hear_the_topic_and_to_no_others(world: World) -> None:
    subscribe(world, "b", "navigation.complete")
    subscribe(world, "c", "navigation.*")
    subscribe(world, ROOT, "detection.*")
    listen(world, "b")
    listen(world, "c")
    assert publish(world) == Delivered(to=2)
    assert read(world, "b") == read(world, "c") != []
    listen(world, ROOT)
    assert isinstance(world.ledger.claim(ROOT), Nothing)


def test_what_nobody_hears_is_sent_all_the_same(world: World) -> None:
    assert publish(world) == Delivered(to=0)
    assert [one["topic"] for one in told(world, "a")] == ["navigation.complete"]


def test_the_sender_does_not_hear_itself(world: World) -> None:
    subscribe(world, "a", "*")
    subscribe(world, "b", "*")
    assert publish(world, 0) == Delivered(to=1)
    assert publish(world, 1, sender=SYSTEM) == Delivered(to=2)


def test_who_hears_it_by_two_patterns_gets_it_once(world: World) -> None:
    subscribe(world, "b", "navigation.*", "*.complete", "navigation.complete")
    listen(world)
    assert publish(world) == Delivered(to=1)
    assert len(read(world)) == 1


def test_what_was_published_before_is_not_heard(world: World) -> None:
    publish(world)
    subscribe(world, "b", "*")
    assert publish(world) == Delivered(to=0)
    assert publish(world, 1) == Delivered(to=1)


def test_a_full_mailbox_does_not_keep_it_from_others(world: World) -> None:
    subscribe(world, "b", "*")
    for number in range(MAX_MAILBOX):
        deliver(world, number)
    assert publish(world, 300) == Delivered(refused="mailbox_full")
    subscribe(world, "c", "*")
    assert publish(world, 301) == Delivered(to=1)
    assert publish(world, 300) == Delivered(refused="mailbox_full")


def test_trees_do_not_hear_each_other(world: World) -> None:
    tree(world, "below", root="elsewhere")
    subscribe(world, "below", "*", root="elsewhere")
    assert subscribe(world, "below", "*") == [Delivered(refused="unknown_recipient")]
    assert publish(world) == Delivered(to=0)


def test_one_that_has_ended_hears_nothing_and_subscribes_no_more(world: World) -> None:
    subscribe(world, "b", "*")
    end(world, "b")
    assert publish(world) == Delivered(to=0)
    assert subscribe(world, "b", "*", "x") == [Delivered(refused="recipient_ended")] * 2
    assert subscribe(world, "nobody", "*") == [Delivered(refused="unknown_recipient")]


def test_one_that_is_bound_to_end_hears_nothing(world: World) -> None:
    subscribe(world, "b", "*")
    world.ledger.cancel("b")
    assert publish(world) == Delivered(to=0)


def test_the_end_of_one_leaves_others_their_subscriptions(world: World) -> None:
    for name in (ROOT, "b", "c"):
        subscribe(world, name, "*")
    end(world, "b")
    assert publish(world) == Delivered(to=2)


def test_subscriptions_are_bounded_and_one_that_is_made_again_is_none_more(world: World) -> None:
    patterns = [f"t{number}" for number in range(MAX_SUBSCRIPTIONS)]
    assert subscribe(world, "b", *patterns, *patterns) == [DONE] * 2 * MAX_SUBSCRIPTIONS
    assert subscribe(world, "b", "one.more", "t3") == [Delivered(refused="too_many_subscriptions"), DONE]
    assert subscribe(world, "c", "one.more") == [DONE]
    assert publish(world, topic="one.more") == Delivered(to=1)


def test_the_call_that_subscribes_comes_to_what_became_of_it_and_is_answered_so_again(world: World) -> None:
    claim = claimed(world, "b")
    assert store(world, claim, with_call(claim.conversation))
    subscribe(world, "b", *(f"t{number}" for number in range(MAX_SUBSCRIPTIONS)))
    refused = Delivered(refused="too_many_subscriptions")
    assert world.ledger.subscribe("b", "*", ROOT, CALL) == refused
    assert Delivered.parse(claimed(world, "b").records["1.0"].posted) == refused
    assert world.ledger.subscribe("b", "t0", ROOT, CALL) == refused


@pytest.mark.parametrize(
    ("pattern", "heard", "unheard"),
    [
        ("a.b", "a.b", "a"),
        ("a.b", "a.b", "a.b.c"),
        ("a.*", "a.b", "a"),
        ("a.*", "a.b.c", "b.a"),
        ("*.b", "a.b", "a.b.b"),
        ("a.*.c", "a.b.c", "a.b.b.c"),
        ("*", "a", "A.B"),
        ("*.*", "a.b.c", "a"),
        ("a-b.*", "a-b.c_d", "axb.c"),
    ],
)
def test_a_star_stands_for_one_word_and_as_the_last_for_one_or_more(pattern: str, heard: str, unheard: str) -> None:
    assert fits(pattern, heard)
    assert pattern == "*" or not fits(pattern, unheard)


WORDS = st.lists(st.sampled_from(["a", "b", "%w", "a-b"]), min_size=1, max_size=4)
PATTERNS = st.lists(st.sampled_from(["a", "b", "a-b", "*", "*"]), min_size=1, max_size=4)


def test_redis_hears_what_is_heard_here(redis_urls: RedisUrls) -> None:
    source = lua("skillfleet.conversations", "deliver")
    begins = source.index("local function fits_topic")
    matcher = source[begins : source.index("\nend", begins) + len("\nend")]
    ask = redis_urls.client().register_script(f"{matcher}\nreturn fits_topic(ARGV[1], ARGV[2]) and 1 or 0")

    @settings(max_examples=500, deadline=None)
    @given(pattern=PATTERNS.map(".".join), topic=WORDS.map(".".join))
    def agree(pattern: str, topic: str) -> None:
        assert bool(ask(args=[pattern, topic])) == fits(pattern, topic)

    agree()
