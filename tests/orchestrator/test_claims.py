"""What the documents claim of the settings and of lost calls."""

import re
from pathlib import Path

import pytest

from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.settings import WorkerSettings
from skillfleet_workers.wire.connection import FleetSettings, SettingsError, load_settings
from skillfleet_workers.wire.contract import TASKS

ROOT = Path(__file__).parents[2]


def takes_nothing(kind: type[FleetSettings], name: str, patch: pytest.MonkeyPatch) -> bool:
    with patch.context() as variables:
        variables.setenv(name, "")
        try:
            load_settings(kind)
        except SettingsError as wrong:
            assert name in str(wrong)
            return False
    return True


def test_an_empty_setting_is_an_error_but_for_those_that_the_example_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kinds: tuple[type[FleetSettings], ...] = (OrchestratorSettings, WorkerSettings)
    names = {(kind, str(field.validation_alias)) for kind in kinds for field in kind.model_fields.values()}
    accepted = {name for kind, name in names if takes_nothing(kind, name, monkeypatch)}
    opening = (ROOT / ".env.example").read_text().partition("# ---")[0]
    assert accepted == set(re.findall(r"[A-Z]+(?:_[A-Z]+)+", opening))


def test_only_the_tools_that_are_named_as_such_are_repeated_whatever_the_skill() -> None:
    (told,) = re.findall(r"Calls that change nothing \(([^)]*)\) are run again", _text("docs/writing-skills.md"))
    repeated = {spec.tool for spec in TASKS if spec.effects == "pure"}
    assert set(re.findall(r"`(\w+)`", told)) == repeated
    assert "run_python_script" not in repeated


def _text(document: str) -> str:
    lines = (ROOT / document).read_text().splitlines()
    return " ".join(" ".join(line.strip().lstrip("#") for line in lines).split())
