"""What the ledger in redis keeps of conversations, read and not moved."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import redis

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.contract import CallRef

from .ledger import DeadCall, dead_call, out_calls
from .models import Conversation, Status
from .runs import ToolRun
from .stored import POSITION, RUN, UNREADABLE, conversation_of, quoted_keys

log = logging.getLogger(__name__)


class KeptInRedis:
    _client: redis.Redis

    def calls(self, call_ids: Sequence[str]) -> list[tuple[Conversation, ToolRun]]:
        kept: dict[str, Conversation] = {}
        refs = [CallRef.of_call(call_id) for call_id in call_ids]
        for name, state in self._states([ref.conversation_id for ref in refs], POSITION).items():
            try:
                kept[name] = self._with_quoted(conversation_of(state, ()), state, refs)
            except UNREADABLE as unreadable:
                log.error("calls of conversation %s cannot be sent: %r", name, unreadable)
        return out_calls(kept, call_ids)

    def load(self, conversation_id: str) -> Conversation | None:
        pipe = self._client.pipeline(transaction=False)
        pipe.hgetall(keys.state(conversation_id))
        pipe.xrange(keys.events(conversation_id))
        state, stream = pipe.execute()
        messages = (fields["data"] for _, fields in stream if fields["type"] == "message")
        return conversation_of(state, messages) if state else None

    def newest(self, limit: int, skip: int = 0) -> list[Conversation]:
        names = cast(list[str], self._client.zrevrange(keys.INDEX, skip, skip + limit - 1))
        found: list[Conversation] = []
        for name, state in self._states(names).items():
            try:
                found.append(conversation_of(state, ()))
            except UNREADABLE as unreadable:
                log.error("conversation %s cannot be read, and is not listed: %r", name, unreadable)
        return found

    def dead(self, limit: int) -> list[DeadCall]:
        newest = cast(list[tuple[str, float]], self._client.zrevrange(keys.DEAD, 0, limit - 1, withscores=True))
        positions = self._stored([CallRef.of_call(call_id).conversation_id for call_id, _ in newest])
        found = {call_id: dead_call(positions, call_id, at / 1000) for call_id, at in newest}
        if gone := [call_id for call_id, call in found.items() if call is None]:
            self._client.zrem(keys.DEAD, *gone)
        return [call for call in found.values() if call is not None]

    def find_dead(self, call_id: str) -> DeadCall | None:
        at = self._client.zscore(keys.DEAD, call_id)
        if at is None:
            return None
        return dead_call(self._stored([CallRef.of_call(call_id).conversation_id]), call_id, at / 1000)

    def states(self, conversation_ids: Sequence[str]) -> dict[str, Status]:
        found = self._states(conversation_ids, ("status",))
        return {name: cast(Status, state["status"]) for name, state in found.items()}

    def _stored(self, names: Sequence[str]) -> dict[str, Conversation]:
        """Those that are kept, by name, without their messages."""
        return {name: conversation_of(state, ()) for name, state in self._states(names).items()}

    def _with_quoted(self, position: Conversation, state: Mapping[str, str], refs: Iterable[CallRef]) -> Conversation:
        """With what these calls of a plan quote, which stands apart."""
        fields = [f"{RUN}{key}" for key in quoted_keys(position, refs)]
        if not fields:
            return position
        found = cast(list[str | None], self._client.hmget(keys.state(position.id), fields))
        quoted = {field: text for field, text in zip(fields, found, strict=True) if text is not None}
        return conversation_of({**state, **quoted}, ())

    def _states(self, names: Sequence[str], fields: Sequence[str] = ()) -> dict[str, dict[str, str]]:
        """`fields`: nothing else of it is read; none: all."""
        names = list(dict.fromkeys(names))
        pipe = self._client.pipeline(transaction=False)
        for name in names:
            pipe.hmget(keys.state(name), fields) if fields else pipe.hgetall(keys.state(name))
        rows = dict(zip(names, pipe.execute(), strict=True))
        if fields:
            return {name: dict(zip(fields, row, strict=True)) for name, row in rows.items() if row[0]}
        return {name: state for name, state in rows.items() if state}
