"""The ledger in redis: submit, claim and commit are one Lua call each."""

import json
import logging
import secrets
from collections.abc import Sequence
from typing import Any, cast

import redis
from pydantic import ValidationError
from redis.exceptions import TimeoutError as RedisTimeoutError

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.calls import lua, parse_records
from skillfleet_workers.wire.connection import RedisUrls

from ..events import Entry, EntryType, Told, opening
from .ledger import LEASE_S, Claim, Nothing
from .messages import Message
from .models import Conversation, ConversationSpec, Limits

MAX_WAIT_S = 5.0
_LONGEST_LIFE_S = next(m.le for m in Limits.model_fields["timeout_s"].metadata if hasattr(m, "le"))

log = logging.getLogger(__name__)


class RedisLedger:
    """Safe to share between threads. Raises redis.RedisError when redis cannot be reached.

    `bell` names the doorbell that conversations submitted here ring, and that `wait` listens to.
    """

    def __init__(self, urls: RedisUrls, fleet: str, *, bell: str = "", ttl_s: int = 7 * 86400) -> None:
        self._client = urls.client()
        self._blocking = urls.client(blocking_seconds=MAX_WAIT_S)
        self._ttl_s = ttl_s
        fleet_keys = keys.FleetKeys(fleet)
        self._due, self._control = fleet_keys.due, fleet_keys.control
        self._bell = keys.FleetKeys(bell or fleet).bell
        self._submit, self._claim, self._commit, self._renew, self._cancel = (
            self._client.register_script(lua(__package__, name))
            for name in ("submit", "claim", "commit", "renew", "cancel")
        )

    @property
    def client(self) -> redis.Redis:
        return self._client

    def submit(self, spec: ConversationSpec) -> float:
        started = Conversation(spec=spec, messages=spec.opening)
        told = [part for entry in opening(started) for part in entry]
        index_ttl_ms = int((self._ttl_s + _LONGEST_LIFE_S) * 1000)
        accepted = self._submit(
            keys=[keys.state(spec.id), keys.events(spec.id), keys.INDEX],
            args=[
                spec.id, spec.model_dump_json(), _state_json(started), started.status,
                self._due, self._bell, self._control, int(spec.limits.timeout_s * 1000), index_ttl_ms, *told,
            ],
        )  # fmt: skip
        return int(accepted) / 1000

    def claim(self, only: str | None = None) -> Claim | Nothing:
        prefix, state_suffix = keys.state("\0").split("\0")
        suffixes = [state_suffix, *(key("\0").split("\0")[1] for key in (keys.calls, keys.events))]
        wanted = [only] if only else []
        answer = self._claim(keys=[self._due], args=[int(LEASE_S * 1000), prefix, *suffixes, *wanted])
        if not answer[0]:
            return Nothing(None if answer[1] < 0 else answer[1] / 1000)
        name, fence, now = answer[:3]
        state, calls = _paired(answer[3]), _paired(answer[4])
        stream = [(cursor, _paired(fields)) for cursor, fields in answer[5]]
        try:
            conversation, records = _conversation(state, stream), parse_records(calls)
        except ValidationError as unreadable:
            # Perhaps a newer version wrote it, whose orchestrator will take it when this lease ends.
            log.error("conversation %s cannot be read: %s", name, unreadable)
            return Nothing(0.0)
        return Claim(conversation, fence, now / 1000, state.get("cancel") == "1", records)

    def commit(self, fence: int, after: Conversation, told: Sequence[Told], due: float | None) -> bool:
        name = after.id
        done = self._commit(
            keys=[keys.state(name), keys.events(name), keys.calls(name), self._due, keys.end(name)],
            args=[
                name, fence, _state_json(after), after.status, "" if due is None else int(due * 1000),
                ",".join(run.key for run in after.out), self._ttl_s, secrets.token_hex(8),
                *(part for entry in told for part in entry),
            ],
        )  # fmt: skip
        return bool(done)

    def renew(self, conversation_id: str, fence: int) -> bool:
        return self._renewed(conversation_id, fence, "0")

    def release(self, conversation_id: str, fence: int) -> None:
        self._renewed(conversation_id, fence, "1")

    def cancel(self, conversation_id: str) -> bool:
        asked = self._cancel(keys=[keys.state(conversation_id)], args=[conversation_id])
        if asked < 0:
            raise KeyError(conversation_id)
        return bool(asked)

    def load(self, conversation_id: str) -> Conversation | None:
        pipe = self._client.pipeline(transaction=False)
        pipe.hgetall(keys.state(conversation_id))
        pipe.xrange(keys.events(conversation_id))
        state, stream = pipe.execute()
        return _conversation(state, stream) if state else None

    def newest(self, limit: int) -> list[Conversation]:
        names = cast(list[str], self._client.zrevrange(keys.INDEX, 0, limit - 1))
        pipe = self._client.pipeline(transaction=False)
        for name in names:
            pipe.hmget(keys.state(name), "spec", "state", "created")
        fields = ("spec", "state", "created")
        return [_conversation(dict(zip(fields, row, strict=True)), []) for row in pipe.execute() if row[0]]

    def entries(self, conversation_id: str, after: str, wait_s: float) -> list[Entry]:
        stream = keys.events(conversation_id)
        block = int(min(wait_s, MAX_WAIT_S) * 1000) or None
        found = cast(Any, self._blocking.xread({stream: after}, block=block))
        rows = (found[stream][0] if isinstance(found, dict) else found[0][1]) if found else []
        return [_entry(cursor, fields) for cursor, fields in rows]

    def ended(self, conversation_id: str, wait_s: float) -> bool:
        block = int(min(wait_s, MAX_WAIT_S) * 1000) or None
        return bool(self._blocking.xread({keys.end(conversation_id): "0"}, block=block))

    def wait(self, seconds: float) -> None:
        try:
            self._blocking.blpop([self._bell], timeout=max(0.01, min(seconds, MAX_WAIT_S)))
        except RedisTimeoutError:
            return

    def _renewed(self, conversation_id: str, fence: int, release: str) -> bool:
        args: list[str | int] = [conversation_id, fence, int(LEASE_S * 1000), release]
        return bool(self._renew(keys=[keys.state(conversation_id), self._due], args=args))


def _paired(flat: Sequence[str]) -> dict[str, str]:
    """A hash as a script answers it: fields and values in turn."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _state_json(conversation: Conversation) -> str:
    return conversation.model_dump_json(exclude={"spec", "messages"})


def _conversation(state: dict[str, str], stream: list[tuple[str, dict[str, str]]]) -> Conversation:
    spec = ConversationSpec.model_validate_json(state["spec"])
    spec = spec.model_copy(update={"created_at": int(state["created"]) / 1000})
    messages = tuple(
        Message.model_validate_json(fields["data"]) for _, fields in stream if fields["type"] == "message"
    )
    stored = json.loads(state["state"])
    return Conversation.model_validate({**stored, "spec": spec, "messages": messages})


def _entry(cursor: str, fields: dict[str, str]) -> Entry:
    kind = cast(EntryType, fields["type"])
    return Entry(int(fields["seq"]), int(fields["at"]) / 1000, kind, json.loads(fields["data"]), cursor)
