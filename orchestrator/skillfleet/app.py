"""The only place where the orchestrator's parts are wired together."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

import redis
from kombu.exceptions import OperationalError

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.blobs import Blobs
from skillfleet_workers.wire.celery import make_celery, send_call
from skillfleet_workers.wire.connection import RedisUrls, SettingsError, worker_name
from skillfleet_workers.wire.contract import CallMessage
from skillfleet_workers.wire.presence import LiveProcess, Presence, live_processes

from .conversations.asking import Models
from .conversations.driver import Driver
from .conversations.models import Conversation, ConversationSpec, Problem, ToolRun
from .conversations.redis_ledger import RedisLedger
from .conversations.schedule import lease_s, room_for
from .llm.base import LanguageModel
from .llm.openai import OpenAIModel
from .llm.scripted import ScriptedModel
from .settings import OrchestratorSettings

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)


Workers = Callable[[], Sequence[LiveProcess]]


class CeleryCalls:
    """The tool queue in Celery."""

    def __init__(
        self,
        app: "Celery",
        broker: redis.Redis,
        queue: str,
        blobs: Blobs,
        workers: Workers,
    ) -> None:
        self._app, self._broker, self._queue, self._blobs, self._workers = app, broker, queue, blobs, workers

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        message = CallMessage(ref=run.ref, request=run.request, skills=conversation.spec.skills, sent_at=time.time())
        try:
            send_call(self._app, run.task.name, self._blobs.referred(message))
        except (OperationalError, redis.RedisError) as error:
            log.warning("call %s was not sent, and will be: %s", run.ref.task_id, error)

    def queue_empty(self) -> bool:
        return self._broker.llen(self._queue) == 0

    def room(self, call_s: float) -> int:
        return room_for(sum(worker.slots for worker in self._workers()), call_s)


def models_of(settings: OrchestratorSettings) -> Models:
    """Which model answers a conversation: its own script, or the provider of the settings."""

    @lru_cache(maxsize=64)
    def provider(name: str) -> LanguageModel | Problem:
        try:
            settings.require_model(name)
        except SettingsError as missing:
            return Problem(code="model_not_configured", message=str(missing), fix="Restart the orchestrator with it.")
        assert settings.llm_api_key and settings.llm_api_base_url
        return OpenAIModel(settings.llm_api_key, settings.llm_api_base_url, name)

    def choose(spec: ConversationSpec) -> LanguageModel | Problem:
        if spec.script is not None:
            return ScriptedModel.of(spec.script, spec.script_start)
        return provider(spec.model or settings.llm_model_name or "")

    return choose


def make_ledger(settings: OrchestratorSettings, *, lone: str = "") -> RedisLedger:
    """`lone`: the name of a fleet that has a doorbell and a queue of its own."""
    return RedisLedger(
        RedisUrls.of(settings),
        settings.fleet,
        bell=lone,
        queue=keys.task_queue(lone) if lone else "",
        ttl_s=settings.result_ttl_hours * 3600,
        tenant_slots=settings.tenant_slots,
        lease_s=lease_s(settings.recovery_s),
        replicas=settings.replicas,
    )


def make_driver(
    settings: OrchestratorSettings, ledger: RedisLedger, *, queue: str = "", only: set[str] | None = None
) -> Driver:
    """`queue`: where calls go, the fleet's own by default."""
    name = queue or keys.task_queue(settings.fleet)
    calls = CeleryCalls(
        make_celery(settings, queue=queue, sends_only=True),
        RedisUrls.of(settings).client(broker=True),
        name,
        Blobs(ledger.client, settings.result_ttl_hours * 3600),
        lambda: [one for one in live_processes(ledger.client, settings.fleet) if one.serves(queue)],
    )
    return Driver(
        ledger,
        models_of(settings),
        calls,
        slots=settings.slots,
        only=only,
        grace_s=0 if only is not None else settings.grace_s,
        recovery_s=settings.recovery_s,
        description_budget=settings.skill_description_budget,
    )


def make_presence(settings: OrchestratorSettings, client: redis.Redis) -> Presence:
    me = LiveProcess(
        role="orchestrator", name=worker_name(), pid=os.getpid(), since=time.time(), slots=settings.slots
    )
    return Presence(client, settings.fleet, lambda: me)


def preload_provider() -> None:
    """Import the provider's SDK, which takes a second, while other things start."""
    name = f"{__package__}.llm.openai_client"
    threading.Thread(target=import_module, args=(name,), name="preload", daemon=True).start()
