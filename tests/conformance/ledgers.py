"""The two ledgers, each with both its sides and a clock that can be pushed on."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from tests.conversation_steps import NOW, make_spec

from skillfleet.conversations.engine import step
from skillfleet.conversations.ledger import FORMAT, Claim, Ledger
from skillfleet.conversations.memory_calls import MemoryCallLedger
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.memory_store import MemoryStore
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import Effect, Event, RunTool
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.conversations.schedule import Sight, next_due
from skillfleet.events import changes
from skillfleet_workers.wire import keys
from skillfleet_workers.wire.calls import CallLedger, CallResult
from skillfleet_workers.wire.connection import RedisUrls

TTL_S = 3600
DONE = CallResult(status="succeeded", shown="[]", tail="nothing", worker="w1", runtime="", ms=2.5)


class World(Protocol):
    @property
    def ledger(self) -> Ledger: ...
    @property
    def calls(self) -> CallLedger | MemoryCallLedger: ...
    def pass_time(self, seconds: float) -> None: ...
    def bells(self) -> int:
        """How often the doorbell has rung and nobody has heard it."""
        ...

    def called_off(self) -> list[str]:
        """What workers have been told over the control channel since the last question."""
        ...

    def forget(self, conversation_id: str) -> None:
        """The conversation is gone, but not from what is due."""
        ...

    def write_as_later_release(self, conversation_id: str) -> None: ...


@dataclass
class MemoryWorld:
    time: float = NOW
    store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(lambda: self.time)
        self.ledger = MemoryLedger(self.store, ttl_s=TTL_S)
        self.calls = MemoryCallLedger(self.store)

    def pass_time(self, seconds: float) -> None:
        self.time += seconds

    def bells(self) -> int:
        return self.store.bells

    def called_off(self) -> list[str]:
        told = list(self.store.called_off)
        self.store.called_off.clear()
        return told

    def forget(self, conversation_id: str) -> None:
        kept = self.store.find(conversation_id)
        assert kept is not None
        kept.expires_at = self.time

    def write_as_later_release(self, conversation_id: str) -> None:
        kept = self.store.find(conversation_id)
        assert kept is not None
        kept.format = FORMAT + 1


DATED = re.compile(
    rf"{keys.PREFIX}:(due:[^:]*({keys.READY}:.*|{keys.HELD}.*)?|calls:.*({keys.WAITING}:.*|{keys.SENT}))"
)
"""Sorted sets by a time."""


class RedisWorld:
    """Time is passed by moving what redis has dated: due times, ranks, deadlines and expiries."""

    def __init__(self, urls: RedisUrls) -> None:
        self.ledger = RedisLedger(urls, "test", ttl_s=TTL_S)
        self.client = urls.client()
        self.calls = CallLedger(self.client)
        self._keys = keys.FleetKeys("test")
        self._control = self.client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
        self._control.subscribe(self._keys.control)
        self._control.get_message(timeout=5)

    def pass_time(self, seconds: float) -> None:
        milliseconds = int(seconds * 1000)
        for key in self.client.scan_iter():
            kind = self.client.type(key)
            if kind == "zset" and DATED.fullmatch(key):
                for member in cast(list[str], self.client.zrange(key, 0, -1)):
                    self.client.zincrby(key, -milliseconds, member)
            elif kind == "hash":
                for dated in cast(list[str], self.client.hkeys(key)):
                    if dated in ("deadline", "pause") or dated.endswith(":sent") or key.endswith(":requests"):
                        self.client.hincrby(key, dated, -milliseconds)
            elif key.endswith(keys.MARK):
                self.client.decrby(key, milliseconds)
            left = self.client.pttl(key)
            if key.endswith(":mailbox"):
                self._age_mail(key, milliseconds)
            if left > 0:
                self.client.pexpire(key, left - milliseconds)

    def _age_mail(self, mailbox: str, milliseconds: int) -> None:
        entries = cast(list[tuple[str, dict[str, str]]], self.client.xrange(mailbox))
        self.client.delete(mailbox)
        for place, mail in entries:
            expires = int(mail["expires"]) - milliseconds
            self.client.xadd(mailbox, {"expires": expires, "message": mail["message"]}, place)

    def bells(self) -> int:
        return self.client.llen(self._keys.bell)

    def called_off(self) -> list[str]:
        # Redis publishes before it answers, on each connection in order: what was told lies ready, up to the pong.
        self._control.ping()
        told = []
        while (message := self._control.get_message(timeout=5)) and message["type"] != "pong":
            told.append(message["data"])
        return told

    def forget(self, conversation_id: str) -> None:
        assert self.client.delete(keys.state(conversation_id)) == 1

    def write_as_later_release(self, conversation_id: str) -> None:
        state = keys.state(conversation_id)
        stored = cast(str, self.client.hget(state, "state"))
        head = f'{{"format":{FORMAT},'
        assert stored.startswith(head)
        self.client.hset(state, "state", stored.replace(head, f'{{"format":{FORMAT + 1},"added_later":1,', 1))


def submitted(world: World, name: str = "c1") -> None:
    world.ledger.submit(make_spec(name))


def claimed(world: World, only: str | None = None) -> Claim:
    claim = world.ledger.claim(only)
    assert isinstance(claim, Claim), claim
    return claim


def commit_steps(
    world: World, claim: Claim, *events: Event, due_in: float | None = None, before: Conversation | None = None
) -> Conversation:
    """Step through the events and commit once; the conversation that was stored."""
    start = after = before or claim.conversation
    effects: list[Effect] = []
    for event in events:
        after, more = step(after, event, claim.now)
        effects += more
    due = None if due_in is None else claim.now + due_in
    if after.ending:
        due = next_due(after, claim.records, Sight(claim.now))
    sends = [effect.run for effect in effects if isinstance(effect, RunTool)]
    assert world.ledger.commit(claim.fence, after, changes(start, after, effects), due, sends)
    return after


def sequence(world: World, name: str = "c1") -> Sequence[tuple[int, str]]:
    return [(entry.seq, entry.type) for entry in world.ledger.entries(name, "0", 0)]


WORLDS: dict[str, Callable[[RedisUrls], World]] = {"memory": lambda _: MemoryWorld(), "redis": RedisWorld}
