"""Model adapters of others: a model called `NAME:REST` is asked of the entry point NAME."""

from functools import lru_cache

from skillfleet_workers.wire.plugins import MODELS, Plugin, plugins

from ..conversations.limits import Problem
from .base import Hear, LanguageModel, ModelReply, ModelRequest, deaf


def registered(model: str) -> bool:
    return _plugin(model) is not None


@lru_cache(maxsize=64)
def adapted(model: str) -> LanguageModel | Problem:
    """Of a registered one. Its entry point is called with REST, and gives a LanguageModel."""
    plugin = _plugin(model)
    if plugin is None:
        return Problem(code="unknown_model_adapter", message=f"No model adapter has registered for {model!r}.")
    if plugin.trouble:
        return _broken(plugin.name, plugin.trouble)
    try:
        return AdaptedModel(plugin.name, plugin.value(model.partition(":")[2]))
    except Exception as wrong:  # noqa: BLE001  code of others: what it raises ends this conversation only
        return _broken(plugin.name, f"{type(wrong).__name__}: {wrong}")


class AdaptedModel:
    """A model of others, which may raise anything: a conversation then fails, and no orchestrator with it."""

    def __init__(self, name: str, model: LanguageModel) -> None:
        self._name, self._model = name, model

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        try:
            return self._model.reply(request, hear)
        except Exception as wrong:  # noqa: BLE001  as above
            return _broken(self._name, f"{type(wrong).__name__}: {wrong}")


def _broken(name: str, trouble: str) -> Problem:
    return Problem(
        code="model_adapter_failed",
        message=f"The model adapter {name!r} failed: {trouble}.",
        fix="Mend or remove the distribution that registers it, and restart the orchestrator.",
    )


def _plugin(model: str) -> Plugin | None:
    name, colon, _ = model.partition(":")
    return next((plugin for plugin in plugins(MODELS) if colon and plugin.name == name), None)
