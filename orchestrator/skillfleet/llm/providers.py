"""Which provider answers for a model's name, where, and with which key (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import SecretStr

from ..conversations.limits import Problem
from ..settings import OrchestratorSettings

Provider = Literal["openai", "anthropic"]

PUBLIC: dict[Provider, str] = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
"""Where each provider is, unless a setting says otherwise."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """`provider`: whose wire format; `model`: its name there; `named`: by what settings of the provider's own it was
    chosen, by those that they come before."""

    provider: Provider
    model: str
    key: SecretStr
    base_url: str
    named: Mapping[str, str] = field(default_factory=dict, compare=False)


def choose(name: str, settings: OrchestratorSettings) -> Chosen | Problem:
    """`openai:NAME` and `anthropic:NAME` are that provider's, with its own settings before LLM_*; any other name,
    with or without a colon, speaks OpenAI's format with LLM_*. Empty: the default model."""
    name = name or settings.llm_model_name or ""
    prefix, _, rest = name.partition(":")
    match prefix:
        case "openai":
            return _own("openai", rest, settings.openai_api_key, settings.openai_base_url, settings)
        case "anthropic":
            return _own("anthropic", rest, settings.anthropic_api_key, settings.anthropic_base_url, settings)
    if settings.llm_api_key is None:
        return _missing("LLM_API_KEY")
    if settings.llm_api_base_url is None:
        return _missing("LLM_API_BASE_URL")
    if not name:
        return _missing("LLM_MODEL_NAME")
    return Chosen("openai", name, settings.llm_api_key, settings.llm_api_base_url)


def _own(
    provider: Provider, model: str, key: SecretStr | None, base_url: str | None, settings: OrchestratorSettings
) -> Chosen | Problem:
    """A provider's own key is sent to nobody else."""
    if not model:
        message = f"--model {provider}: names no model; write it like {provider}:NAME"
        return Problem(code="model_not_configured", message=message, fix="Name one.")
    if key is None and settings.llm_api_key is None:
        return _missing(f"{provider.upper()}_API_KEY", "LLM_API_KEY")
    named = {"LLM_API_KEY": f"{provider.upper()}_API_KEY"} if key else {}
    if base_url or key or settings.llm_api_base_url is None:
        named["LLM_API_BASE_URL"] = f"{provider.upper()}_BASE_URL"
    if key is None:
        base_url = base_url or settings.llm_api_base_url
    return Chosen(provider, model, key or settings.llm_api_key or SecretStr(""), base_url or PUBLIC[provider], named)


def _missing(setting: str, other: str = "") -> Problem:
    neither = f", nor is {other}" if other else ""
    message = (
        f"{setting}: is not set{neither}; set it in the environment or in .env "
        "(or try `--model scripted:FILE`, which needs no provider)"
    )
    return Problem(code="model_not_configured", message=message, fix="Restart the orchestrator with it.")
