"""Which provider a model's name chooses, and what it is sent."""

from pathlib import Path
from typing import Any

import pytest
from tests.orchestrator.test_settings import unset as unset

from skillfleet.conversations.limits import Problem
from skillfleet.llm.base import ModelRequest
from skillfleet.llm.prompts import opening
from skillfleet.llm.provider import ProviderModel, Wire
from skillfleet.llm.providers import PUBLIC, Chosen, choose
from skillfleet.local.lone import worker_environment
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import load_settings

LLM = {"LLM_API_KEY": "llm-key", "LLM_API_BASE_URL": "http://llm/v1"}
OWN = {"OPENAI_API_KEY": "openai-key", "ANTHROPIC_API_KEY": "anthropic-key"}
URLS = {"OPENAI_BASE_URL": "http://openai/v1", "ANTHROPIC_BASE_URL": "http://anthropic"}


def unreached() -> Wire:
    raise AssertionError("nothing is asked")


def chosen(monkeypatch: pytest.MonkeyPatch, name: str, variables: dict[str, str]) -> Chosen | Problem:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    return choose(name, load_settings(OrchestratorSettings))


@pytest.mark.parametrize(
    ("name", "variables", "told"),
    [
        ("gpt", LLM, ("openai", "gpt", "llm-key", "http://llm/v1")),
        ("gpt", LLM | OWN | URLS, ("openai", "gpt", "llm-key", "http://llm/v1")),
        ("llama3:8b", LLM, ("openai", "llama3:8b", "llm-key", "http://llm/v1")),
        ("", LLM | {"LLM_MODEL_NAME": "gpt"}, ("openai", "gpt", "llm-key", "http://llm/v1")),
        ("", LLM | {"LLM_MODEL_NAME": "anthropic:c"}, ("anthropic", "c", "llm-key", "http://llm/v1")),
        ("openai:gpt", LLM, ("openai", "gpt", "llm-key", "http://llm/v1")),
        ("openai:gpt", {"LLM_API_KEY": "llm-key"}, ("openai", "gpt", "llm-key", PUBLIC["openai"])),
        ("openai:gpt", LLM | OWN, ("openai", "gpt", "openai-key", PUBLIC["openai"])),
        ("openai:gpt", LLM | OWN | URLS, ("openai", "gpt", "openai-key", "http://openai/v1")),
        ("openai:ft:gpt:x", LLM | URLS, ("openai", "ft:gpt:x", "llm-key", "http://openai/v1")),
        ("anthropic:claude", LLM, ("anthropic", "claude", "llm-key", "http://llm/v1")),
        ("anthropic:claude", OWN, ("anthropic", "claude", "anthropic-key", PUBLIC["anthropic"])),
        ("anthropic:claude", LLM | OWN | URLS, ("anthropic", "claude", "anthropic-key", "http://anthropic")),
        ("anthropic:claude", LLM | {"ANTHROPIC_API_KEY": ""}, ("anthropic", "claude", "llm-key", "http://llm/v1")),
    ],
)
def test_a_name_chooses_provider_key_and_address(
    monkeypatch: pytest.MonkeyPatch, name: str, variables: dict[str, str], told: Any
) -> None:
    found = chosen(monkeypatch, name, variables)
    assert isinstance(found, Chosen), found
    assert (found.provider, found.model, found.key.get_secret_value(), found.base_url) == told


@pytest.mark.parametrize(
    ("variables", "fix"),
    [
        (LLM, "Check LLM_API_KEY at LLM_API_BASE_URL."),
        (LLM | OWN, "Check ANTHROPIC_API_KEY at ANTHROPIC_BASE_URL."),
        (LLM | URLS, "Check LLM_API_KEY at ANTHROPIC_BASE_URL."),
    ],
)
def test_a_fix_names_the_settings_that_were_used(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], fix: str
) -> None:
    found = chosen(monkeypatch, "anthropic:claude", variables)
    assert isinstance(found, Chosen)
    wrong = Problem(code="model_key_rejected", message="no", fix="Check LLM_API_KEY at LLM_API_BASE_URL.")
    model = ProviderModel(unreached, wrong, named=found.named)
    outcome = model.reply(ModelRequest(opening("Hello?")))
    assert isinstance(outcome, Problem) and outcome.fix == fix


@pytest.mark.parametrize(
    ("name", "variables", "named"),
    [
        ("", LLM, "LLM_MODEL_NAME"),
        ("gpt", {}, "LLM_API_KEY"),
        ("gpt", OWN, "LLM_API_KEY"),
        ("gpt", {"LLM_API_KEY": "k"}, "LLM_API_BASE_URL"),
        ("openai:gpt", {"ANTHROPIC_API_KEY": "k"}, "OPENAI_API_KEY"),
        ("anthropic:claude", {}, "ANTHROPIC_API_KEY"),
        ("anthropic:", OWN, "--model anthropic:"),
    ],
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, variables: dict[str, str], named: str
) -> None:
    found = chosen(monkeypatch, name, variables)
    assert isinstance(found, Problem)
    assert found.code == "model_not_configured" and found.message.startswith(named)
    assert "key" not in found.message.replace("API_KEY", "")


def test_workers_are_started_without_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LLM_API_KEY", *OWN):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in worker_environment(load_settings(OrchestratorSettings)).values()


def test_the_file_of_models_may_be_in_the_users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLFLEET_MODELS_FILE", "~/models.yaml")
    assert load_settings(OrchestratorSettings).models_file == Path.home() / "models.yaml"
