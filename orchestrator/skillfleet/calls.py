"""The tool queues in Celery."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import redis
from kombu.exceptions import OperationalError

from skillfleet_workers.wire.blobs import Blobs
from skillfleet_workers.wire.celery import send_call
from skillfleet_workers.wire.contract import CallMessage, UsedSkill
from skillfleet_workers.wire.keys import route_queue
from skillfleet_workers.wire.presence import LiveProcess
from skillfleet_workers.wire.published import PublishedSkill

from .catalogs import Catalogs
from .conversations.activations import first_used
from .conversations.models import Conversation
from .conversations.plan_runs import quotes_of, tool_of
from .conversations.runs import ToolRun
from .conversations.schedule import Rooms, room_for

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)


class CeleryCalls:
    """`queue`: that of the calls that all workers can run; each route has one of its own."""

    def __init__(
        self,
        app: "Celery",
        broker: redis.Redis,
        queue: str,
        blobs: Blobs,
        workers: Callable[[], Sequence[LiveProcess]],
        catalogs: Catalogs,
    ) -> None:
        self._app, self._broker, self._queue, self._blobs = app, broker, queue, blobs
        self._workers, self._catalogs = workers, catalogs

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        """Who keeps to a state of the skill that none of today's workers has published goes where that one went, as
        long as somebody is there."""
        if run.skill is None:
            return ""
        pinned, now = self._pinned(conversation, run.skill), self._now(conversation, run.skill)
        if now and now.eligible and (pinned is None or pinned.digest == now.digest):
            return now.route
        before = run.route or _route_of_then(conversation, run.skill, pinned)
        if now and now.eligible and before and before not in self._served():
            return now.route  # whoever can run it as it is now has most likely kept it as it was
        return before

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        try:
            send_call(self._app, run.task.name, self._blobs.referred(self._message(conversation, run)), run.route)
        except (OperationalError, redis.RedisError) as error:
            log.warning("call %s was not sent, and will be: %s", run.ref.task_id, error)
        except KeyError as unknown:  # others are sent meanwhile
            log.error(
                "call %s cannot be sent: it quotes %s, which is not known to have ended", run.ref.task_id, unknown
            )

    def queue_empty(self, route: str) -> bool:
        return self._broker.llen(route_queue(self._queue, route)) == 0

    def rooms(self, call_s: float) -> Rooms:
        workers, slots = self._workers(), Counter[str]()
        for worker in workers:
            slots.update(dict.fromkeys(worker.routes, worker.slots))
        routes = {route: room_for(count, call_s) for route, count in slots.items()}
        return Rooms(room_for(sum(worker.slots for worker in workers), call_s), routes)

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        skill = self._now(conversation, run.skill) if run.skill else None
        return skill.reason if skill else ""

    def _served(self) -> set[str]:
        return {route for worker in self._workers() for route in worker.routes}

    def _message(self, conversation: Conversation, run: ToolRun) -> CallMessage:
        pinned, plan = self._pinned(conversation, run.skill) if run.skill else None, conversation.spec.plan
        of_plan: dict[str, Any] = {}
        if plan is not None:
            retries, quotes = tool_of(plan, run).retry_policy.max_retries, quotes_of(conversation, plan, run)
            of_plan = {"retries": retries, "quotes": quotes, "keeps": True}
        return CallMessage(
            ref=run.ref,
            request=run.request,
            skills=conversation.spec.skills,
            sent_at=time.time(),
            snapshot=conversation.snapshot,
            digest=pinned.digest if pinned else "",
            governing=conversation.governing,
            files=conversation.spec.files,
            **of_plan,
        )

    def _pinned(self, conversation: Conversation, name: str) -> PublishedSkill | UsedSkill | None:
        """Of a skill that came after the conversation had begun, the state that it used first; None: none yet."""
        snapshot = self._catalogs.read(conversation.snapshot) if conversation.snapshot else None
        found = snapshot.find(name) if snapshot else None
        return found or first_used(conversation, name)

    def _now(self, conversation: Conversation, name: str) -> PublishedSkill | None:
        """Of the version that the conversation keeps to."""
        snapshot, pinned = self._catalogs.current(), self._pinned(conversation, name)
        if snapshot is None:
            return None
        return snapshot.find(f"{pinned.name}@{pinned.version}" if pinned else name)


def _route_of_then(conversation: Conversation, skill: str, pinned: PublishedSkill | UsedSkill | None) -> str:
    if isinstance(pinned, PublishedSkill):
        return pinned.route if pinned.eligible else ""
    return _route_before(conversation, skill)


def _route_before(conversation: Conversation, skill: str) -> str:
    """Of the last call of the skill that a worker has answered."""
    routes = (run.route for run in reversed(conversation.runs) if run.skill == skill and run.worker)
    return next(routes, "")
