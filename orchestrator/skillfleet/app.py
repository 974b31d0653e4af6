"""The only place where the orchestrator's parts are wired together."""

import os
import threading
import time
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

import redis

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.blobs import Blobs
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import RedisUrls, SettingsError, worker_name
from skillfleet_workers.wire.presence import LiveProcess, Presence, live_processes

from .calls import CeleryCalls
from .catalogs import Catalogs
from .conversations.asking import Models
from .conversations.driver import Driver
from .conversations.limits import Problem
from .conversations.models import ConversationSpec, Rule
from .conversations.redis_ledger import RedisLedger
from .conversations.schedule import lease_s
from .llm.adapters import adapted, registered
from .llm.base import LanguageModel
from .llm.openai import openai_model
from .llm.scripted import ScriptedModel
from .settings import OrchestratorSettings
from .tools.permission import read_rules

if TYPE_CHECKING:
    pass


def models_of(settings: OrchestratorSettings) -> Models:
    """Which model answers a conversation: its own script, an adapter of others, or the provider of the settings."""

    @lru_cache(maxsize=64)
    def provider(name: str) -> LanguageModel | Problem:
        try:
            settings.require_model(name)
        except SettingsError as missing:
            return Problem(code="model_not_configured", message=str(missing), fix="Restart the orchestrator with it.")
        assert settings.llm_api_key and settings.llm_api_base_url
        return openai_model(settings.llm_api_key, settings.llm_api_base_url, name)

    def choose(spec: ConversationSpec) -> LanguageModel | Problem:
        if spec.script is not None:
            return ScriptedModel.of(spec.script, spec.script_start)
        name = spec.model or settings.llm_model_name or ""
        return adapted(name) if registered(name) else provider(name)

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
    ttl_s = settings.result_ttl_hours * 3600

    def workers() -> list[LiveProcess]:
        return [one for one in live_processes(ledger.client, settings.fleet) if one.serves(queue)]

    catalogs = Catalogs(ledger.client, ttl_s, workers)
    calls = CeleryCalls(
        make_celery(settings, queue=queue, sends_only=True),
        RedisUrls.of(settings).client(broker=True),
        queue or keys.task_queue(settings.fleet),
        Blobs(ledger.client, ttl_s),
        workers,
        catalogs,
    )
    return Driver(
        ledger,
        models_of(settings),
        calls,
        slots=settings.slots,
        only=only,
        grace_s=0 if only is not None else settings.grace_s,
        recovery_s=settings.recovery_s,
        catalogs=catalogs,
        description_budget=settings.skill_description_budget,
        queue_timeout_s=settings.queue_timeout_s,
        rules=policy_of(settings),
    )


def policy_of(settings: OrchestratorSettings) -> tuple[Rule, ...]:
    """What the fleet's operator wants to be asked about.

    Raises:
        SettingsError: it cannot be read.
    """
    try:
        return read_rules(settings.policy or "")
    except ValueError as wrong:
        raise SettingsError(f"SKILLFLEET_POLICY: {wrong}") from None


def make_presence(settings: OrchestratorSettings, client: redis.Redis) -> Presence:
    me = LiveProcess(
        role="orchestrator", name=worker_name(), pid=os.getpid(), since=time.time(), slots=settings.slots
    )
    return Presence(client, settings.fleet, lambda: me)


def preload_provider() -> None:
    """Import the provider's SDK, which takes a second, while other things start."""
    name = f"{__package__}.llm.openai_client"
    threading.Thread(target=import_module, args=(name,), name="preload", daemon=True).start()
