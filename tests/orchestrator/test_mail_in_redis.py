"""What holds of messages in redis alone: their keys, and connections that break."""

from pathlib import Path

from tests.conformance.ledgers import TTL_S, RedisWorld, claimed
from tests.conformance.mail import ROOT, answered, asked, deliver, end, listen, message, read, store, told, tree
from tests.cutting_proxy import cutting_proxy

from skillfleet.conversations.ledger import Nothing
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.subagents.mailbox import Delivered
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls

FLEET = keys.FleetKeys("test")


def corresponded(world: RedisWorld) -> None:
    """A tree in which all has been said, and much of it is neither read nor answered."""
    tree(world, "a", "b")
    world.ledger.subscribe("b", "*", ROOT)
    deliver(world, 0, topic="news", ttl=30)
    asked(world, 1, ttl=50)


def test_what_waits_for_a_conversation_goes_by_itself_when_it_has_expired(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    corresponded(world)
    for key in (keys.mailbox("b"), keys.requests("b")):
        assert 49_000 < world.client.pttl(key) <= 50_000
    # A shorter one does not make the others' time shorter.
    deliver(world, 2, ttl=5)
    assert world.client.pttl(keys.mailbox("b")) > 45_000
    assert 0 < world.client.ttl(keys.posted(ROOT, message(0).message_id)) <= keys.POSTED_S
    assert 0 < world.client.ttl(FLEET.messages) <= TTL_S


def test_nothing_of_a_tree_s_messages_outlives_its_end(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    corresponded(world)
    for name in ("b", "a", ROOT):
        end(world, name)
        assert not world.client.exists(keys.mailbox(name), keys.requests(name))
    assert not world.client.exists(keys.topics(ROOT))
    assert world.ledger.claim() == Nothing(None)
    world.pass_time(TTL_S)
    assert sorted(world.client.scan_iter()) == [keys.INDEX, keys.FleetKeys("test").unarchived]


def test_the_fleet_s_stream_holds_about_so_many_messages(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    tree(world, "a", "b")
    pipe = world.client.pipeline(transaction=False)
    for number in range(keys.MESSAGES_KEPT + 2_000):
        pipe.xadd(FLEET.messages, {"message": number})
    pipe.execute()
    deliver(world)
    assert keys.MESSAGES_KEPT <= world.client.xlen(FLEET.messages) < keys.MESSAGES_KEPT + 200


def test_a_message_whose_answer_was_lost_is_delivered_once(redis_urls: RedisUrls, state_dir: Path) -> None:
    world = RedisWorld(redis_urls)
    tree(world, "a", "b", "warm")
    listen(world)
    with cutting_proxy(redis_urls, state_dir) as (proxy, urls):
        world.ledger = RedisLedger(urls, "test", ttl_s=TTL_S)
        deliver(world, 0, recipient_id="warm")
        proxy.cut_after("to-be-seen-once")
        assert deliver(world, 1, payload={"word": "to-be-seen-once"}) == Delivered(to=1)
        assert proxy.cuts == 1
        assert len(read(world)) == 1
        assert len(told(world, "a")) == 2


def test_an_end_whose_answer_was_lost_is_told_once(redis_urls: RedisUrls, state_dir: Path) -> None:
    world = RedisWorld(redis_urls)
    tree(world, "a", "b", "warm")
    asked(world)
    listen(world, "a")
    with cutting_proxy(redis_urls, state_dir) as (proxy, urls):
        world.ledger = RedisLedger(urls, "test", ttl_s=TTL_S)
        end(world, "warm")
        claim = claimed(world, "b")
        proxy.cut_after("recipient_ended")
        ended = claim.conversation.model_copy(update={"status": "failed"})
        assert store(world, claim, ended, due_in=None)
        assert proxy.cuts == 1
        assert [one.payload["status"] for one in read(world, "a")] == ["failed"]
        assert answered(world, 9).refused == "unknown_sender"


def test_mail_of_a_later_release_does_not_hold_up_the_others(redis_urls: RedisUrls) -> None:
    world = RedisWorld(redis_urls)
    tree(world, "a", "b")
    listen(world)
    deliver(world)
    world.client.xadd(keys.mailbox("b"), {"expires": 2**52, "message": '{"message_type":"hum"}'})
    assert world.ledger.claim("b") == Nothing(0.0)
    assert claimed(world).conversation.id in (ROOT, "a")
