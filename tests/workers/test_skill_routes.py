"""Which workers take a skill's calls, and what a worker says of its machine."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillfleet_workers.settings import WorkerSettings
from skillfleet_workers.skills.eligibility import why_not
from skillfleet_workers.skills.models import Requirements, Skill
from skillfleet_workers.skills.override_file import Override
from skillfleet_workers.skills.registry import Registry
from skillfleet_workers.skills.routes import route_of
from skillfleet_workers.skills.this_host import this_host
from skillfleet_workers.wire.connection import SettingsError, load_settings
from skillfleet_workers.wire.published import QUEUE_NAME


def skill(name: str = "a", **fields: Any) -> Skill:
    return Skill(name, Path("/skills") / name, **fields)


PLUGIN = """
def refuse(skill, host):
    return f"{skill.name} is refused"
"""
ENTRIES = "[skillfleet.filters]\nmine = a_filter_of_others:refuse\nlost = no_such_module_at_all:refuse\n"


def test_filters_are_found_by_their_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "others-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "a_filter_of_others.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    host = this_host("")
    assert list(host.filters) == ["lost", "mine"]
    reason = why_not(skill(), host, Override(), Registry())
    assert "the filter 'lost' failed: ModuleNotFoundError" in str(reason)
    host = replace(host, filters={"mine": host.filters["mine"]})
    assert why_not(skill(), host, Override(), Registry()) == "a is refused"


def test_this_host_looks_where_scripts_do_and_not_in_the_workers_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("scripts", "worker"):
        (tmp_path / folder).mkdir()
        for program in ("both", folder):
            (tmp_path / folder / program).touch(0o755)
    (tmp_path / "scripts" / "no-program").touch(0o644)
    monkeypatch.setenv("PATH", str(tmp_path / "worker"))
    host = this_host(str(tmp_path / "scripts"), frozenset({"gpu"}))
    assert host.which("both") == str(tmp_path / "scripts" / "both")
    assert host.which("scripts") and host.which("worker") is None
    assert host.which("no-program") is None and host.which("sh") is None
    assert host.platform == sys.platform and host.queues == {"gpu"} and host.environ["PATH"]


def test_a_skill_that_demands_nothing_of_a_host_runs_anywhere() -> None:
    assert route_of(skill()) == ""
    assert route_of(skill(always=True, requires=Requirements(bins=("gh",)))) == ""


def test_a_queue_that_a_skill_asks_for_is_its_route() -> None:
    assert route_of(skill(queue="gpu", requires=Requirements(bins=("gh",)))) == "gpu"


@pytest.mark.parametrize("what", ["bins", "any_bins", "env", "os", "config"])
def test_skills_with_the_same_demands_share_a_route(what: str) -> None:
    first, second = (
        route_of(skill(n, requires=Requirements(**{what: v}))) for n, v in (("a", ("x", "y")), ("b", ("y", "x", "y")))
    )
    assert first == second and re.fullmatch(QUEUE_NAME, first) and re.fullmatch("needs-[0-9a-f]{8}", first)
    others = {
        route_of(skill(requires=Requirements(**{name: ("x", "y")})))
        for name in ("bins", "any_bins", "env", "os", "config")
    }
    assert len(others) == 5


def test_a_route_stays_the_same_across_releases() -> None:
    assert route_of(skill(requires=Requirements(bins=("git",), os=("linux",)))) == "needs-95ab6321"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SKILLFLEET_WORKER_QUEUES", "SKILLFLEET_SKILLS_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def settings(folder: Path) -> WorkerSettings:
    return load_settings(WorkerSettings, skills_folder=folder, state_dir=folder / "state")


@pytest.mark.parametrize(
    ("value", "queues"),
    [
        ("gpu,office", {"gpu", "office"}),
        (" gpu , ,gpu-2,", {"gpu", "gpu-2"}),
        ("[1]", None),
        ("Gpu", None),
        ("a" * 41, None),
    ],
)
def test_the_queues_of_a_worker_are_names_with_commas_between(
    bare: Path, monkeypatch: pytest.MonkeyPatch, value: str, queues: set[str] | None
) -> None:
    monkeypatch.setenv("SKILLFLEET_WORKER_QUEUES", value)
    if queues is not None:
        assert settings(bare).worker_queues == queues
        return
    with pytest.raises(
        SettingsError, match=r"^SKILLFLEET_WORKER_QUEUES: '.+' is no name of a queue: lower-case letters"
    ):
        settings(bare)


def test_the_settings_of_single_skills_are_in_the_state_folder_unless_told_otherwise(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings(bare).worker_queues == frozenset()
    assert settings(bare).skills_config == bare / "state" / "skills.yaml"
    monkeypatch.setenv("SKILLFLEET_SKILLS_CONFIG", "~/mine.yaml")
    monkeypatch.setenv("HOME", str(bare))
    assert settings(bare).skills_config == bare / "mine.yaml"
    monkeypatch.setenv("SKILLFLEET_SKILLS_CONFIG", " ")
    with pytest.raises(SettingsError, match=r"^SKILLFLEET_SKILLS_CONFIG: is empty"):
        settings(bare)


def test_a_state_folder_that_is_refused_is_the_setting_that_is_named(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLFLEET_STATE_DIR", "")
    with pytest.raises(SettingsError, match=r"^SKILLFLEET_STATE_DIR"):
        load_settings(WorkerSettings, skills_folder=bare)
