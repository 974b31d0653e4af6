"""What models take and cost, by their names."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillfleet_workers.wire.connection import SettingsError

from ..conversations.limits import Usage
from .written import read_written

PROVIDERS = ("openai:", "anthropic:")
"""Prefixes of model names: they choose a wire format, and tell nothing of a model."""

MILLION = 1_000_000


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Prices(_Written):
    """For a million tokens, in whatever currency. `cached_input`, `cache_write`: of input that was read from, or
    written to, the provider's cache of prompts; None: as any other input."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class ModelFacts(_Written):
    """`window`: most tokens of a request and its reply; `max_output`: most tokens of a reply that are asked for,
    where the provider wants to be told; `vision`: it takes images. `prices` None: unknown."""

    window: int = Field(default=128_000, ge=1_000)
    max_output: int = Field(default=8_192, ge=1)
    vision: bool = True
    prices: Prices | None = None

    @property
    def room(self) -> int:
        """Most tokens of a request, so that a reply still fits."""
        return self.window - min(self.max_output, self.window // 4)


class _ModelsFile(_Written):
    models: dict[str, ModelFacts]


class KnownModels:
    """`default`: the model that the empty name stands for."""

    def __init__(self, *tables: Mapping[str, ModelFacts], default: str = "") -> None:
        """Of several `tables` a later one adds to what the earlier ones say, or says otherwise."""
        self._tables, self._default = tables, default

    @classmethod
    def of(cls, file: Path | None, default: str = "") -> Self:
        """What we know, and what `file` says.

        Raises:
            SettingsError: the file cannot be used.
        """
        return cls(_ours(), *([_read(file)] if file else []), default=default)

    def facts(self, model: str) -> ModelFacts:
        """Of a model by its name, with or without its provider; what nobody knows is the default."""
        name = model or self._default
        told: dict[str, object] = {}
        for table in self._tables:
            fitting = [pattern for pattern in table if _fits(name, pattern)]
            if fitting:
                found = table[max(fitting, key=lambda pattern: ("*" not in pattern, len(pattern)))]
                told |= {field: getattr(found, field) for field in found.model_fields_set}
        return ModelFacts.model_validate(told)


def cost(facts: ModelFacts, usage: Usage) -> float:
    """0.0 where the model has no prices."""
    prices = facts.prices
    if prices is None:
        return 0.0
    read, written = usage.cached_input_tokens, usage.cache_write_tokens
    plain = max(0, usage.input_tokens - read - written)
    cached = prices.input if prices.cached_input is None else prices.cached_input
    write = prices.input if prices.cache_write is None else prices.cache_write
    paid = plain * prices.input + read * cached + written * write + usage.output_tokens * prices.output
    return paid / MILLION


def bare(model: str) -> str:
    """Without its provider."""
    return next((model.removeprefix(prefix) for prefix in PROVIDERS if model.startswith(prefix)), model)


def _fits(model: str, pattern: str) -> bool:
    return fnmatchcase(model, pattern) or fnmatchcase(bare(model), pattern)


@cache
def _ours() -> dict[str, ModelFacts]:
    with as_file(files(__package__) / "models.yaml") as path:
        return _read(path)


def _read(path: Path) -> dict[str, ModelFacts]:
    try:
        return _ModelsFile.model_validate(read_written(path, "models")).models
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise SettingsError(
            f"SKILLFLEET_MODELS_FILE: {path}: {place}: {first['msg']}; see docs/models.md for its form"
        ) from None
    except ValueError as wrong:
        raise SettingsError(f"SKILLFLEET_MODELS_FILE: {wrong}") from None
