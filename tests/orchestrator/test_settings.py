"""The orchestrator's own settings, and the secrets among them."""

import os
from pathlib import Path

import pytest

from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.connection import SettingsError, load_settings


@pytest.fixture(autouse=True)
def unset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SKILL", "SCRIPT_", "LLM_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def complaint(**overrides: object) -> str:
    with pytest.raises(SettingsError) as wrong:
        load_settings(OrchestratorSettings, **overrides)
    return str(wrong.value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("SKILLFLEET_SLOTS", "abc", "'abc' is not a whole number from 1 to 2000"),
        ("SKILLFLEET_SLOTS", "2001", "'2001' is not a whole number from 1 to 2000"),
        ("LLM_MODEL_NAME", " ", "is empty; give it a value, or leave it out"),
        ("LLM_API_KEY", "", "is empty; give it a value, or leave it out"),
        ("LLM_API_BASE_URL", "http://me:secret@", "is not a URL; write it like https://host/v1"),
    ],
)
def test_a_wrong_value_is_named_with_what_it_may_be(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    monkeypatch.setenv(name, value)
    assert complaint() == f"{name}: {problem}"


@pytest.mark.parametrize("field", ["llm_api_key", "redis_url"])
def test_the_value_of_a_secret_is_never_shown(field: str) -> None:
    line = complaint(**{field: ["secret"]})
    assert line.startswith(("LLM_API_KEY: is not ", "SKILLFLEET_REDIS_URL: is not "))
    assert "secret" not in line
