"""The orchestrator's settings (seed 000, model 1): read once, frozen, passed in."""

from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from skillfleet_workers.wire.connection import FleetSettings, expanded

SCRIPTED = "scripted:"
REPLAY = "replay:"
PLAYED = (SCRIPTED, REPLAY)
"""Models that are files, and need no provider."""

DESCRIPTION_BUDGET = 16_000
"""Most characters of the list of skills that a model is shown, unless told otherwise."""

PARALLEL_CALLS = 16
"""Most tool calls of one conversation that are out at once, unless told otherwise."""

NO_HISTORY = "off"


class OrchestratorSettings(FleetSettings):
    llm_api_key: SecretStr | None = Field(default=None, validation_alias="LLM_API_KEY")
    llm_api_base_url: str | None = Field(default=None, validation_alias="LLM_API_BASE_URL")
    llm_model_name: str | None = Field(default=None, validation_alias="LLM_MODEL_NAME")
    skill_description_budget: int = Field(
        default=DESCRIPTION_BUDGET, ge=0, validation_alias="SKILLFLEET_SKILL_DESCRIPTION_BUDGET"
    )
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    anthropic_api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    anthropic_base_url: str | None = Field(default=None, validation_alias="ANTHROPIC_BASE_URL")
    streaming: bool = Field(default=True, validation_alias="SKILLFLEET_STREAMING")
    models_file: Path | None = Field(default=None, validation_alias="SKILLFLEET_MODELS_FILE")
    policy: str | None = Field(default=None, validation_alias="SKILLFLEET_POLICY")
    parallel_calls: int = Field(default=PARALLEL_CALLS, ge=1, le=1000, validation_alias="SKILLFLEET_PARALLEL_CALLS")
    slots: int = Field(default=32, ge=1, le=2000, validation_alias="SKILLFLEET_SLOTS")
    tenant_slots: int = Field(default=0, ge=0, validation_alias="SKILLFLEET_TENANT_SLOTS")
    history_url: SecretStr | None = Field(default=None, validation_alias="SKILLFLEET_HISTORY_URL")
    history_days: int = Field(default=0, ge=0, le=36_500, validation_alias="SKILLFLEET_HISTORY_DAYS")
    queue_timeout_s: int = Field(default=120, ge=1, le=7 * 86400, validation_alias="SKILLFLEET_QUEUE_TIMEOUT_SECONDS")
    recovery_s: int = Field(default=10, ge=3, le=3600, validation_alias="SKILLFLEET_RECOVERY_SECONDS")

    @property
    def keeps_history(self) -> bool:
        return self.history_url is None or self.history_url.get_secret_value().strip() != NO_HISTORY

    @field_validator("llm_api_key", "llm_api_base_url", "llm_model_name", "policy", "history_url")
    @classmethod
    def _not_empty(cls, value: SecretStr | str | None) -> SecretStr | str | None:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if text is not None and not text.strip():
            raise ValueError("is empty; give it a value, or leave it out")
        return value

    @field_validator("openai_api_key", "openai_base_url", "anthropic_api_key", "anthropic_base_url", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        # They are other programs' variables too, and some set them to nothing.
        return None if isinstance(value, str) and not value.strip() else value

    @field_validator("models_file", mode="before")
    @classmethod
    def _file(cls, value: str | Path | None) -> Path | None:
        return None if value is None else expanded(value)

    @field_validator("llm_api_base_url", "openai_base_url", "anthropic_base_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and not _is_http_url(value):
            raise ValueError("is not a URL; write it like https://host/v1")
        return value


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket left open; its message would quote a password
        return False
