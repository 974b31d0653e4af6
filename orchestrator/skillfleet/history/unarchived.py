"""What redis holds that the history has not: which conversations, and their new events."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import redis

from skillfleet_workers.wire import keys

from ..conversations.models import Conversation
from ..conversations.stored import POSITION, conversation_of, entry_of
from ..events import Entry
from .moments import moment

PAGE = 500
"""Most events that are read at once: a history of any length takes little memory."""

A_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class News:
    """Where a conversation stands, without its messages, and what has happened since the cursor that was named;
    `all_read`: nothing more has."""

    conversation: Conversation
    entries: tuple[Entry, ...]
    all_read: bool


@dataclass(frozen=True, slots=True)
class Unarchivable:
    """`since`: when it was first found that it cannot be archived, seconds since the epoch; `why`: at last."""

    name: str
    since: float
    why: str


def told_of(failing: Sequence[Unarchivable]) -> str:
    """In one line. There are some, the one of the longest first."""
    first = failing[0]
    since = moment(first.since)
    many = "a conversation" if len(failing) == 1 else f"{len(failing)} conversations"
    return f"{many} cannot be archived: {first.name}, since {since:%Y-%m-%dT%H:%M:%SZ}: {first.why}"


class Unarchived:
    """Raises redis.RedisError when redis cannot be reached."""

    def __init__(self, client: redis.Redis, fleet: str, page: int = PAGE) -> None:
        self._client, self._page = client, page
        self._key, self._failing = keys.FleetKeys(fleet).unarchived, keys.FleetKeys(fleet).unarchivable

    def due(self, most: int) -> list[str]:
        """Those whose look is due, the oldest first."""
        return cast(
            list[str], self._client.zrange(self._key, "-inf", self._now_ms(), byscore=True, offset=0, num=most)
        )

    def pages(self, size: int) -> Iterator[list[str]]:
        """All of them, due or not; some may come twice where others look too."""
        page: list[str] = []
        for name, _ in self._client.zscan_iter(self._key, count=size):
            page.append(name)
            if len(page) == size:
                yield page
                page = []
        if page:
            yield page

    def look_again(self, delays_s: dict[str, float]) -> None:
        now = self._now_ms()
        self._client.zadd(self._key, {name: now + int(s * 1000) for name, s in delays_s.items()}, xx=True)

    def done(self, names: Sequence[str]) -> None:
        self._client.zrem(self._key, *names)
        self.recovered(names)

    def failed(self, name: str, why: str) -> float:
        """How long it has been so, in seconds; 0: it was not known."""
        told, now = self._client.hget(self._failing, name), self._now_ms() / 1000
        since = json.loads(told)["since"] if told else now
        self._client.hset(self._failing, name, json.dumps({"since": since, "why": why}))
        self._client.expire(self._failing, 2 * A_DAY_S)
        return max(0.0, now - since)

    def recovered(self, names: Collection[str]) -> None:
        self._client.hdel(self._failing, *names)

    def failing(self) -> tuple[Unarchivable, ...]:
        """Those that cannot be archived, for the longest first."""
        told = cast(dict[str, str], self._client.hgetall(self._failing))
        waits = self._client.zmscore(self._key, list(told)) if told else ()
        there = (name for name, at in zip(told, waits, strict=True) if at is not None)
        found = (Unarchivable(name, **json.loads(told[name])) for name in there)
        return tuple(sorted(found, key=lambda one: one.since))

    def behind(self, seconds: float) -> int:
        """How many have been due for longer."""
        return self._client.zcount(self._key, "-inf", self._now_ms() - int(seconds * 1000))

    def newest(self, names: Sequence[str]) -> dict[str, str]:
        """The cursor of the last event of each; who is not in it is gone."""
        pipe = self._client.pipeline(transaction=False)
        for name in names:
            pipe.xrevrange(keys.events(name), count=1)
        return {name: last[0][0] for name, last in zip(names, pipe.execute(), strict=True) if last}

    def news(self, name: str, after: str) -> News | None:
        """None: it is gone.

        Raises:
            UNREADABLE: this release cannot read it.
        """
        pipe = self._client.pipeline()
        pipe.hmget(keys.state(name), POSITION)
        pipe.xrange(keys.events(name), f"({after}" if after else "-", count=self._page)
        values, rows = pipe.execute()
        if not values[0]:
            return None
        conversation = conversation_of(dict(zip(POSITION, values, strict=True)), ())
        return News(conversation, tuple(entry_of(cursor, fields) for cursor, fields in rows), len(rows) < self._page)

    def keep(self, names: Sequence[str], seconds: int = 2 * A_DAY_S) -> None:
        """Those of them that would be gone within a day stay so long."""
        pipe = self._client.pipeline(transaction=False)
        for name in names:
            pipe.ttl(keys.state(name))
        soon = [name for name, left in zip(names, pipe.execute(), strict=True) if 0 <= left < A_DAY_S]
        for name in soon:
            for key in (keys.state, keys.events, keys.calls, keys.end):
                pipe.expire(key(name), seconds)
        pipe.execute()

    def _now_ms(self) -> int:
        seconds, micros = self._client.time()
        return seconds * 1000 + micros // 1000
