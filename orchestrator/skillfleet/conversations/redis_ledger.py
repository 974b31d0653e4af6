"""The ledger in redis: submit, claim and commit are one Lua call each."""

import json
import logging
import secrets
import time
from collections.abc import Sequence
from typing import Any, cast

import redis
from redis.commands.core import Script
from redis.exceptions import NoPermissionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.calls import parse_records
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.lua import lua

from ..events import Entry, Told, in_order, opening
from ..subagents.mailbox import orphaned
from .acceptance import MAX_WAIT_S, ON_DISK_WITHIN_MS, REPLICATED_WITHIN_MS, check_replicated, on_disk
from .ledger import (
    FORMAT,
    LEASE_S,
    LEFT_ALONE_S,
    MAX_DEAD,
    Accepted,
    Claim,
    DecidedAs,
    LiveWords,
    Nothing,
    Written,
)
from .models import Conversation, ConversationSpec
from .persons import asked_for, decided_entry
from .redis_kept import KeptInRedis
from .redis_mail import MailInRedis, mail_of
from .retention import forget_expired
from .runs import Decision, ToolRun
from .schedule import LEAST_ROOMS, RESEND_AFTER_S, Rooms
from .stored import (
    UNREADABLE,
    OwnWritings,
    conversation_of,
    entry_of,
    own_ms,
    pages,
    paired,
    state_json,
    stored_apart,
)

COUNTED = ("commit", "cancel", "pause", "paused", "dropped")
"""Fields of the state hash that a claim brings; empty: there is no such field."""

TIDY_EVERY_S = 60.0
_LOOK_MS = int(RESEND_AFTER_S * 1000)

log = logging.getLogger(__name__)


class RedisLedger(KeptInRedis, MailInRedis):
    """Safe to share between threads. Raises redis.RedisError when redis cannot be reached.

    `bell` names the doorbell that conversations submitted here ring, and that `wait` listens to; `queue` the Celery
    queue that calls are sent to (the fleet's own by default). `tenant_slots`: most conversations of one tenant that
    orchestrators hold at once, 0: no bound. `replicas`: how many of redis must have what is submitted before it
    counts as accepted.
    """

    def __init__(
        self,
        urls: RedisUrls,
        fleet: str,
        *,
        bell: str = "",
        queue: str = "",
        ttl_s: int = 7 * 86400,
        tenant_slots: int = 0,
        lease_s: float = LEASE_S,
        replicas: int = 0,
    ) -> None:
        self._client = urls.client()
        self._blocking = urls.client(blocking_seconds=MAX_WAIT_S)
        self._ttl_s = ttl_s
        fleet_keys = keys.FleetKeys(fleet)
        self._due, self._control, self._messages = fleet_keys.due, fleet_keys.control, fleet_keys.messages
        self._idempotency, self._unarchived = fleet_keys.idempotency, fleet_keys.unarchived
        self._bell = keys.FleetKeys(bell or fleet).bell
        self._queue = keys.QueueKeys(queue or keys.task_queue(fleet)).base
        self._tenant_slots, self._lease_ms = tenant_slots, int(lease_s * 1000)
        self._submit, self._claim, self._commit, self._renew, self._release, self._tell_live = (
            self._client.register_script(lua(__package__, name))
            for name in ("submit", "claim", "commit", "renew", "release", "tell_live")
        )
        self._cancel, self._pause, self._resume, self._decide, self._deliver, self._subscribe = (
            self._client.register_script(lua(__package__, name))
            for name in ("cancel", "pause", "resume", "decide", "deliver", "subscribe")
        )
        self._waits_for_disk, self._replicas = True, replicas
        self._written, self._fleet, self._tidy_at = OwnWritings(), fleet, 0.0

    @property
    def client(self) -> redis.Redis:
        return self._client

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        with self._blocking.pipeline(transaction=False) as pipe:
            for spec in specs:
                self._add(spec, pipe)
            if self._replicas:
                pipe.wait(self._replicas, REPLICATED_WITHIN_MS)
            if self._waits_for_disk:
                pipe.execute_command("WAITAOF", 1, 0, ON_DISK_WITHIN_MS)  # type: ignore[no-untyped-call]
            answers = pipe.execute(raise_on_error=False)
        for answer in answers[: len(specs)]:
            if isinstance(answer, redis.RedisError):
                raise answer
        if self._replicas:
            check_replicated(answers[len(specs)], self._replicas)
        if self._waits_for_disk:
            self._waits_for_disk = on_disk(answers[-1])
        return [Accepted(name, at / 1000) for name, at in answers[: len(specs)]]

    def _add(self, spec: ConversationSpec, pipe: redis.client.Pipeline) -> None:
        started = Conversation.begun(spec)
        told = [part for entry in opening(started) for part in entry]
        key = [self._idempotency(spec.tenant, spec.idempotency_key)] if spec.idempotency_key else []
        self._submit(
            client=pipe,
            keys=[keys.state(spec.id), keys.events(spec.id), keys.INDEX, self._unarchived, *key],
            args=[
                spec.id, spec.model_dump_json(), state_json(started), started.status,
                self._due, self._bell, self._control, int(spec.limits.timeout_s * 1000),
                spec.tenant, spec.priority, spec.parent_call, spec.root, *told,
            ],
        )  # fmt: skip

    def claim(self, only: str | None = None, rooms: Rooms = LEAST_ROOMS) -> Claim | Nothing:
        args: list[str | int] = [
            self._lease_ms, self._tenant_slots, self._queue, rooms.told, _LOOK_MS, FORMAT, int(LEFT_ALONE_S * 1000),
            *([only] if only else []),
        ]  # fmt: skip
        released, *answer = self._claim(keys=[self._due, self._bell], args=args)
        released = tuple(released)
        if not answer[0]:
            return Nothing(None if answer[1] < 0 else answer[1] / 1000, released)
        name, fence, now, marks, idle_ms = answer[:5]
        counted = dict(zip(COUNTED, answer[5], strict=True))
        try:
            conversation, records = self._read(name, counted, answer[8:]), parse_records(paired(answer[6]))
            mailbox = mail_of(answer[7])
        except UNREADABLE as unreadable:
            # Others are served meanwhile; it is looked at again when this lease ends.
            log.error("conversation %s cannot be read: %r", name, unreadable)
            return Nothing(0.0, released)
        overtaken_at = {route: int(mark) / 1000 for route, mark in paired(marks).items()}
        if conversation is None:
            return Nothing(0.0, released)
        cancel, pause = counted["cancel"] == "1", counted["pause"] != ""
        return Claim(
            conversation, fence, now / 1000, cancel, records, pause, overtaken_at, released, idle_ms / 1000,
            mailbox,
        )  # fmt: skip

    def _read(self, name: str, counted: dict[str, str], whole: Sequence[Any]) -> Conversation | None:
        """`whole`: state and messages of one that nobody has held before. None: it is gone."""
        if whole:
            return conversation_of(paired(whole[0]), whole[1])
        return self._written.read(name, counted) or self.load(name)

    def commit(
        self,
        fence: int,
        after: Conversation,
        told: Sequence[Told],
        due: float | None,
        sends: Sequence[ToolRun] = (),
        rooms: Rooms = LEAST_ROOMS,
        taken: Sequence[str] = (),
    ) -> Written | None:
        name = after.id
        apart, once = stored_apart(after, self._written.resting(name)).items(), secrets.token_hex(8)
        self._written.note(after, once)
        done, *released = self._commit(
            keys=[
                keys.state(name), keys.events(name), keys.calls(name), self._due, keys.end(name), keys.DEAD,
                self._messages,
            ],
            args=[
                name, fence, state_json(after), after.status, "" if due is None else int(due * 1000),
                ",".join(run.key for run in after.with_workers), self._ttl_s, once,
                ",".join(run.ref.call_id for run in after.dead), MAX_DEAD,
                ",".join(f"{run.key}:{'child' if run.child else 'result'}" for run in after.given_up),
                self._tenant_slots, self._queue, rooms.told, _LOOK_MS,
                ",".join(f"{run.key}:{int(run.again)}:{run.route}" for run in sends), own_ms(after),
                ",".join(taken), json.dumps(orphaned(name, after.status, after.root)) if after.terminal else "",
                len(apart), *(part for field in apart for part in field), *(part for entry in told for part in entry),
            ],
        )  # fmt: skip
        if done:
            self._written.note_stored(after)
        return Written(tuple(released)) if done else None

    def awake_s(self) -> float:
        try:
            return float(self._client.info("server")["uptime_in_seconds"])
        except NoPermissionError:
            return 0.0

    def release_calls(self, rooms: Rooms) -> tuple[str, ...]:
        return tuple(self._release(keys=[self._queue], args=[rooms.told, _LOOK_MS]))

    def renew(self, conversation_id: str, fence: int) -> bool:
        return self._renewed(conversation_id, fence, "0")

    def release(self, conversation_id: str, fence: int) -> None:
        self._renewed(conversation_id, fence, "1")

    def cancel(self, conversation_id: str) -> bool:
        return self._asked(self._cancel, conversation_id)

    def pause(self, conversation_id: str) -> bool:
        return self._asked(self._pause, conversation_id)

    def resume(self, conversation_id: str) -> bool:
        return self._asked(self._resume, conversation_id)

    def decide(self, conversation_id: str, key: str, decision: Decision) -> DecidedAs:
        told = json.dumps(decided_entry(key, decision))
        args = [conversation_id, key, asked_for(decision), decision.model_dump_json(), told]
        answer = self._decide(keys=[of(conversation_id) for of in (keys.state, keys.calls, keys.events)], args=args)
        if answer == "unknown":
            raise KeyError(conversation_id)
        return cast(DecidedAs, answer)

    def tell_live(self, *words: LiveWords) -> list[bool]:
        names = [key for one in words for key in (keys.state(one.conversation_id), keys.live(one.conversation_id))]
        args: list[str | int] = []
        for one in words:
            args += [one.fence, len(one.told), *(part for entry in one.told for part in entry)]
        return [bool(told) for told in self._tell_live(keys=names, args=args)]

    def entries(self, conversation_id: str, after: str, wait_s: float, live: str | None = None) -> list[Entry]:
        events, lives = keys.events(conversation_id), keys.live(conversation_id)
        block = int(min(wait_s, MAX_WAIT_S) * 1000) or None
        streams: dict[Any, Any] = {events: after} if live is None else {events: after, lives: live}
        rows = pages(self._blocking.xread(streams, block=block))
        told = [entry_of(cursor, fields, live=True) for cursor, fields in rows.get(lives, ())]
        return in_order([entry_of(cursor, fields) for cursor, fields in rows.get(events, ())], told)

    def ended(self, conversation_id: str, wait_s: float) -> bool:
        block = int(min(wait_s, MAX_WAIT_S) * 1000) or None
        return bool(self._blocking.xread({keys.end(conversation_id): "0"}, block=block))

    def wait(self, seconds: float) -> None:
        if time.monotonic() >= self._tidy_at:
            self._tidy_at = time.monotonic() + TIDY_EVERY_S
            forget_expired(self._client, self._fleet, self._ttl_s)
        try:
            self._blocking.blpop([self._bell], timeout=max(0.01, min(seconds, MAX_WAIT_S)))
        except RedisTimeoutError:
            return

    def _asked(self, script: Script, conversation_id: str) -> bool:
        answer = script(keys=[keys.state(conversation_id)], args=[conversation_id])
        if answer < 0:
            raise KeyError(conversation_id)
        return bool(answer)

    def _renewed(self, conversation_id: str, fence: int, release: str) -> bool:
        args: list[str | int] = [conversation_id, fence, self._lease_ms, release, self._tenant_slots]
        return bool(self._renew(keys=[keys.state(conversation_id), self._due], args=args))
