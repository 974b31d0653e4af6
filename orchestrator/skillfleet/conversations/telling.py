"""What models say is told live while they say it: by one thread, for all conversations of an orchestrator."""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import redis

from ..llm.base import Hear, Piece
from .heard import HeardReply
from .ledger import Ledger, LiveWords

GATHER_S = 0.04
"""What is said within so long is told together, but for the first words of a reply: those are told at once."""

EARLY_S = 0.01
"""By so much it is told sooner, where others are told of anyway."""

MOST_AT_ONCE = 64
"""Conversations that are told of in one round trip."""

log = logging.getLogger(__name__)


class _Reply:
    """`due_at`: when what waits of it is to be told. `wanted` False: nobody listens any more."""

    def __init__(self, conversation_id: str, fence: int, turn: int) -> None:
        self.conversation_id, self.fence = conversation_id, fence
        self.heard = HeardReply(turn)
        self.due_at, self.wanted = -math.inf, True

    def words(self) -> LiveWords:
        return LiveWords(self.conversation_id, self.fence, self.heard.take())


class Telling:
    """Its thread begins with the first piece: where models tell nothing there is none. What redis does not take in
    time is skipped."""

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger, self._clock = ledger, clock
        lock = threading.Lock()
        self._work, self._told = threading.Condition(lock), threading.Condition(lock)
        self._lock = lock
        self._waiting: dict[_Reply, None] = {}
        self._being_told: list[_Reply] = []
        self._wakes_at = -math.inf
        """When the thread looks next, unless it is woken; it is busy until it says so."""
        self._begun = self._stopped = self._away = False

    @contextmanager
    def reply(self, conversation_id: str, fence: int, turn: int) -> Iterator[Hear]:
        """Who asks a model for a reply has the ear for it. When the block ends everything is told, and nothing is any
        more: the event that the reply leads to comes after."""
        one = _Reply(conversation_id, fence, turn)
        try:
            yield partial(self._hear, one)
        finally:
            self._finish(one)

    def stop(self) -> None:
        """What waits is not told any more."""
        with self._lock:
            self._end()

    def _hear(self, one: _Reply, piece: Piece) -> None:
        with self._lock:
            if self._stopped or not one.wanted or not one.heard.hear(piece):
                return
            self._waiting[one] = None
            if not self._begun:
                self._begin()
            elif one.due_at < self._wakes_at:
                self._work.notify()

    def _begin(self) -> None:
        self._begun = True
        try:
            threading.Thread(target=self._tell_all, name="telling", daemon=True).start()
        except RuntimeError as error:  # the process has all the threads that it may have
            log.warning("what models say is not told while they say it: %s", error)
            self._end()

    def _end(self) -> None:
        self._stopped = True
        self._waiting.clear()
        self._work.notify()
        self._told.notify_all()

    def _finish(self, one: _Reply) -> None:
        with self._lock:
            if one in self._waiting:
                one.due_at = -math.inf
                self._work.notify()
            self._told.wait_for(lambda: one not in self._waiting and one not in self._being_told)
            one.wanted = False

    def _tell_all(self) -> None:
        try:
            while words := self._next_words():
                self._tell(words)
        finally:
            with self._lock:
                self._being_told = []
                self._end()

    def _next_words(self) -> list[LiveWords]:
        """Once there are any; none: it is over."""
        with self._lock:
            while not self._stopped:
                now = self._clock()
                soonest = min((one.due_at for one in self._waiting), default=math.inf)
                if soonest <= now:
                    return self._words(now)
                self._wakes_at = soonest
                self._work.wait(None if soonest == math.inf else soonest - now)
                self._wakes_at = -math.inf
            return []

    def _words(self, now: float) -> list[LiveWords]:
        due = [one for one in self._waiting if one.due_at <= now + EARLY_S][:MOST_AT_ONCE]
        for one in due:
            del self._waiting[one]
            one.due_at = now + GATHER_S
        self._being_told = due
        return [one.words() for one in due]

    def _tell(self, words: list[LiveWords]) -> None:
        try:
            wanted = self._ledger.tell_live(*words)
        except redis.RedisError as error:
            self._skip(error)
            return
        self._away = False
        with self._lock:
            for one, is_wanted in zip(self._being_told, wanted, strict=True):
                one.wanted = one.wanted and is_wanted
            self._told_of()

    def _skip(self, error: redis.RedisError) -> None:
        """Whatever has waited meanwhile waits no longer: replies must not wait for a redis that is away."""
        if not self._away:
            log.warning("what models say is not told while redis is away: %s", error)
        self._away = True
        with self._lock:
            for one in self._being_told:
                one.heard.lose()
            for one in self._waiting:
                one.heard.skip()
            self._waiting.clear()
            self._told_of()

    def _told_of(self) -> None:
        self._being_told = []
        self._told.notify_all()
