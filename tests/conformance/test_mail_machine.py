"""Messages on both ledgers side by side: Hypothesis chooses who sends what, and both say the same of it."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.conformance.ledgers import MemoryWorld, RedisWorld, World
from tests.conformance.mail import ROOT, deliver, end, listen, store, tree

from skillfleet.conversations.ledger import Nothing
from skillfleet.subagents.mailbox import SYSTEM, AgentMessage
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.uuids import uuid_of

NAMES = [ROOT, "a", "b", "c"]
TREE = st.sampled_from(NAMES)
ANYBODY = st.sampled_from([*NAMES, SYSTEM, "elsewhere", "below", "nobody"])
TALKING = st.sampled_from(["a", "b", "a", "b", "c", SYSTEM])
"""So few that an answer often finds its request."""

CORRELATION = uuid_of("one")
TOPICS = ["a.b", "a.b.c", "b"]
PATTERNS = ["a.*", "*.b", "b", "*"]
Answer = TypeVar("Answer")


def seen(one: AgentMessage) -> dict[str, Any]:
    """Of a message, but for when; and for what the ledgers name themselves."""
    return one.model_dump(exclude={"timestamp", "message_id"} if one.sender_id == SYSTEM else {"timestamp"})


class Machine(RuleBasedStateMachine):
    redis_world: ClassVar[RedisWorld]

    def __init__(self) -> None:
        super().__init__()
        self.redis_world.client.flushdb()
        self.worlds: list[World] = [MemoryWorld(), self.redis_world]
        for world in self.worlds:
            tree(world, "a", "b", "c")
            tree(world, "below", root="elsewhere")
        self.sent = 0
        self.open = set(NAMES)
        self.listening = set[str]()
        self.handed: dict[str, set[str]] = {name: set() for name in NAMES}

    def taken(self, world: World, name: str, wanted: int) -> list[dict[str, Any]] | None:
        """What was in the mailbox, of which so many are taken; None: nothing makes it due."""
        claim = world.ledger.claim(name)
        if isinstance(claim, Nothing):
            return None
        assert store(world, claim, claim.conversation, taken=tuple(mail.place for mail in claim.mailbox[:wanted]))
        return [seen(mail.message) for mail in claim.mailbox]

    def both(self, ask: Callable[[World], Answer]) -> Answer:
        memory, redis = map(ask, self.worlds)
        assert memory == redis
        return redis

    def deliver(self, **given: Any) -> None:
        self.sent += 1
        self.both(lambda world: deliver(world, self.sent, **given))

    @rule(sender=ANYBODY, recipient=ANYBODY, ttl=st.sampled_from([30, 75]), priority=st.integers(1, 10))
    def tell(self, sender: str, recipient: str, ttl: int, priority: int) -> None:
        self.deliver(sender_id=sender, recipient_id=recipient, ttl=ttl, priority=priority)

    @rule(sender=TREE, topic=st.sampled_from(TOPICS))
    def publish(self, sender: str, topic: str) -> None:
        self.deliver(sender_id=sender, topic=topic)

    @rule(sender=TALKING, recipient=TALKING, ttl=st.sampled_from([30, 75]))
    def ask(self, sender: str, recipient: str, ttl: int) -> None:
        known = {"message_type": "request", "correlation_id": CORRELATION, "ttl": ttl}
        self.deliver(sender_id=sender, recipient_id=recipient, **known)

    @rule(sender=TALKING, recipient=TALKING, kind=st.sampled_from(["response", "response", "error"]))
    def answer(self, sender: str, recipient: str, kind: str) -> None:
        self.deliver(sender_id=sender, recipient_id=recipient, correlation_id=CORRELATION, message_type=kind)

    @precondition(lambda self: self.sent > 0)
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(1, self.sent))
        before = self.both(lambda world: len(world.ledger.sent("0", 0)))
        self.both(lambda world: deliver(world, number, recipient_id="c"))
        assert self.both(lambda world: len(world.ledger.sent("0", 0))) == before

    @rule(name=ANYBODY, pattern=st.sampled_from(PATTERNS))
    def subscribe(self, name: str, pattern: str) -> None:
        self.both(lambda world: world.ledger.subscribe(name, pattern, ROOT))

    @precondition(lambda self: self.open - self.listening)
    @rule(data=st.data())
    def begin_to_listen(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.open - self.listening)))
        self.listening.add(name)
        for world in self.worlds:
            listen(world, name)

    @precondition(lambda self: self.listening)
    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.listening)))
        wanted = data.draw(st.integers(0, 3))
        found = self.both(lambda world: self.taken(world, name, wanted))
        for one in (found or [])[:wanted]:
            if "message_id" in one:
                assert one["message_id"] not in self.handed[name]
                self.handed[name].add(one["message_id"])

    @precondition(lambda self: self.open - {ROOT})
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.open - {ROOT})))
        self.open.discard(name)
        self.listening.discard(name)
        for world in self.worlds:
            end(world, name)

    @rule()
    def pass_time(self) -> None:
        for world in self.worlds:
            world.pass_time(50)

    @invariant()
    def the_same_was_sent(self) -> None:
        self.both(lambda world: [seen(one) for _, one in world.ledger.sent("0", 0)])


def test_both_ledgers_say_the_same(redis_urls: RedisUrls) -> None:
    Machine.redis_world = RedisWorld(redis_urls)
    run_state_machine_as_test(Machine, settings=settings(max_examples=20, stateful_step_count=25, deadline=None))
