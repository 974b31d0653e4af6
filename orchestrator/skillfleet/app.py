"""The only place where the orchestrator's parts are wired together."""

import os
import threading
import time
from functools import lru_cache
from importlib import import_module

import redis

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.blobs import Blobs
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import RedisUrls, SettingsError, worker_name
from skillfleet_workers.wire.kept import KeptRuns
from skillfleet_workers.wire.presence import LiveProcess, Presence, Role, live_processes
from skillfleet_workers.wire.store import ArtifactStore

from .calls import CeleryCalls
from .catalogs import Catalogs
from .conversations.asking import Asking, Models
from .conversations.driver import Driver
from .conversations.limits import Problem
from .conversations.models import ConversationSpec, Rule
from .conversations.outputs import Executions, no_executions
from .conversations.redis_ledger import RedisLedger
from .conversations.schedule import lease_s
from .llm.adapters import adapted, registered
from .llm.anthropic import anthropic_model
from .llm.base import LanguageModel
from .llm.chain import ChainModel
from .llm.facts import KnownModels, ModelFacts
from .llm.openai import openai_model
from .llm.providers import Chosen, choose
from .llm.replay import ReplayModel
from .llm.scripted import ScriptedModel
from .results import CeleryResults
from .settings import REPLAY, OrchestratorSettings
from .shown_files import ShownFiles
from .tools.permission import read_rules


def models_of(settings: OrchestratorSettings, known: KnownModels, executions: Executions = no_executions) -> Models:
    """Which model answers a conversation: its own script, none where it runs skills by itself, an adapter of others,
    or the provider of the settings."""

    @lru_cache(maxsize=64)
    def provider(name: str) -> LanguageModel | Problem:
        chosen = choose(name, settings)
        return chosen if isinstance(chosen, Problem) else _model_of(chosen, known.facts(name), settings)

    def answering(spec: ConversationSpec) -> LanguageModel | Problem:
        if spec.script is not None:
            played = ReplayModel if spec.model.startswith(REPLAY) else ScriptedModel
            return played.of(spec.script, spec.script_start)
        if spec.agent is not None and spec.steps:
            return ChainModel.of(spec, spec.agent, executions)
        name = spec.model or settings.llm_model_name or ""
        return adapted(name) if registered(name) else provider(name)

    return answering


def known_models(settings: OrchestratorSettings) -> KnownModels:
    """Raises SettingsError."""
    return KnownModels.of(settings.models_file, settings.llm_model_name or "")


def _model_of(chosen: Chosen, facts: ModelFacts, settings: OrchestratorSettings) -> LanguageModel:
    to, streaming, named = (chosen.key, chosen.base_url, chosen.model), settings.streaming, chosen.named
    match chosen.provider:
        case "openai":
            return openai_model(*to, streaming=streaming, vision=facts.vision, named=named)
        case "anthropic":
            return anthropic_model(*to, streaming=streaming, vision=facts.vision, max_output_tokens=facts.max_output)


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
    known = known_models(settings)
    executions = CeleryResults(lambda: make_celery(settings, queue=queue)).execution
    asking = Asking(
        models_of(settings, known, executions),
        catalogs,
        budget=settings.skill_description_budget,
        known=known,
        executions=executions,
        file=ShownFiles(ArtifactStore.of(settings)).read,
        rules=policy_of(settings),
        states=ledger.states,
        kept=KeptRuns(ledger.client).read,
    )
    return Driver(
        ledger,
        asking,
        calls,
        slots=settings.slots,
        only=only,
        grace_s=0 if only is not None else settings.grace_s,
        recovery_s=settings.recovery_s,
        queue_timeout_s=settings.queue_timeout_s,
        parallel_calls=settings.parallel_calls,
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


def make_presence(settings: OrchestratorSettings, client: redis.Redis, role: Role = "orchestrator") -> Presence:
    slots = settings.slots if role == "orchestrator" else 0
    me = LiveProcess(role=role, name=worker_name(), pid=os.getpid(), since=time.time(), slots=slots)
    return Presence(client, settings.fleet, lambda: me)


def preload_provider(settings: OrchestratorSettings, model: str = "") -> None:
    """Import the SDK of the model's provider, which takes a second, while other things start."""
    chosen = choose(model, settings)
    if isinstance(chosen, Problem) or registered(model):
        return
    name = f"{__package__}.llm.{chosen.provider}_client"
    threading.Thread(target=import_module, args=(name,), name="preload", daemon=True).start()
