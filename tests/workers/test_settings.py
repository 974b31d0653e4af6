"""What a setting may be, and the one line that says why it may not."""

import os
from pathlib import Path

import pytest

from skillfleet_workers.settings import WorkerSettings
from skillfleet_workers.wire.connection import FleetSettings, RedisUrls, SettingsError, load_settings

EMPTY = "is empty; give it a value, or leave it out"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a skills folder, and no setting but those that a test makes."""
    for name in list(os.environ):
        if name.startswith(("SKILL", "SCRIPT_", "LLM_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skills").mkdir()
    return tmp_path


def complaint(kind: type[FleetSettings] = WorkerSettings) -> str:
    with pytest.raises(SettingsError) as wrong:
        load_settings(kind)
    line = str(wrong.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize("name", ["SKILLFLEET_STATE_DIR", "SKILLS_FOLDER_PATH"])
@pytest.mark.parametrize("value", ["", " "])
def test_a_folder_cannot_be_an_empty_value(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert complaint(FleetSettings) == f"{name}: {EMPTY}"


def test_a_tilde_is_the_home_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    (here / ".env").write_text("SKILLFLEET_STATE_DIR=~/state\nSKILLS_FOLDER_PATH=~/skills\n")
    settings = load_settings(WorkerSettings)
    assert settings.state_dir == here / "state"
    assert settings.skills_folder == here / "skills"


def test_the_home_folder_of_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLFLEET_STATE_DIR", "~no-such-user/state")
    assert complaint() == "SKILLFLEET_STATE_DIR: '~no-such-user/state' has no home folder; write the whole path"


def test_the_state_folder_is_absolute(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLFLEET_STATE_DIR", "var/state")
    assert load_settings(FleetSettings).state_dir == here / "var" / "state"
    assert load_settings(FleetSettings, state_dir=Path("else")).state_dir == here / "else"


def test_an_empty_redis_url_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLFLEET_REDIS_URL", "")
    assert load_settings(FleetSettings).redis_url is None


def test_a_skills_folder_that_is_a_file_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "notes.md").touch()
    monkeypatch.setenv("SKILLS_FOLDER_PATH", "notes.md")
    assert complaint() == "SKILLS_FOLDER_PATH: notes.md is a file; name the folder that holds the skills"


def test_a_default_skills_folder_that_is_a_file_is_refused(here: Path) -> None:
    (here / "skills").rmdir()
    (here / "skills").touch()
    assert complaint() == "SKILLS_FOLDER_PATH: skills is a file; name the folder that holds the skills"


def test_a_skills_folder_that_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLS_FOLDER_PATH", "absent")
    assert complaint() == "SKILLS_FOLDER_PATH: absent is no folder; create it, or name another one"


def test_a_skills_folder_that_cannot_be_looked_at_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLS_FOLDER_PATH", "x" * 300)
    assert complaint().startswith("SKILLS_FOLDER_PATH: xxx")
    assert complaint().endswith("cannot be used (File name too long); name another folder")


def test_folders_whose_names_are_not_utf_8_are_told_apart(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLFLEET_STATE_DIR", f"{'x' * 100}/\udcff")
    fleets = set()
    for name in ("\udcfe", "\udcff"):
        (here / name).mkdir()
        monkeypatch.setenv("SKILLS_FOLDER_PATH", name)
        fleets.add(load_settings(WorkerSettings).fleet)
    assert len(fleets) == 2
    assert RedisUrls.of(load_settings(WorkerSettings)).url.startswith("unix:///tmp/skillfleet-")


def test_a_dot_env_that_is_not_utf_8_is_named(here: Path) -> None:
    (here / ".env").write_bytes("SKILLFLEET_FLEET=caf\xe9\n".encode("latin-1"))
    assert complaint() == ".env: is not UTF-8 text; save it as UTF-8"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("SCRIPT_TIMEOUT_SECONDS", "abc", "'abc' is not a whole number from 1 to 3600"),
        ("SCRIPT_TIMEOUT_SECONDS", "0", "'0' is not a whole number from 1 to 3600"),
        ("SCRIPT_TIMEOUT_SECONDS", "1.5", "'1.5' is not a whole number from 1 to 3600"),
        ("SCRIPT_TIMEOUT_SECONDS", "", EMPTY),
        ("SCRIPT_TIMEOUT_SECONDS", " ", EMPTY),
        *(
            ("SKILLFLEET_SCRIPT_CPUS", value, f"{value!r} is not a number of cores from 0.05 to 1024, such as 1.5")
            for value in ("0", "0.04", "-1", "2000", "nan", "inf", "two", "1,5", "1.5 cores")
        ),
        ("SKILLFLEET_SCRIPT_CPUS", "", EMPTY),
        ("SKILLFLEET_WORKER_CONCURRENCY", "513", "'513' is not a whole number from 1 to 512"),
        ("SKILLFLEET_RESULT_TTL_HOURS", "0", "'0' is not a whole number of at least 1"),
        ("SKILLFLEET_BUILD_TIMEOUT_SECONDS", "9" * 5000, f"'{'9' * 59}…' is not a whole number of at least 1"),
        ("SKILLFLEET_FLEET", "A b", "'A b' is not a name of lower-case letters, digits and '-', at most 40"),
        ("SKILLFLEET_FLEET", "\udcff", "'\\udcff' is not UTF-8 text"),
        (
            "SKILLFLEET_MIN_ISOLATION",
            "strong",
            "'strong' is not one of none, process, sandbox, container, gvisor",
        ),
        ("SKILLFLEET_LOG_LEVEL", "loud", "'loud' is not one of DEBUG, INFO, WARNING, ERROR"),
        ("SKILLFLEET_LOG_LEVEL", "", EMPTY),
        (
            "SKILLFLEET_REDIS_URL",
            "host:6379",
            "is not a redis URL; write redis://host:6379/0, rediss://..., unix:///path or sentinel://host1,host2/0?master=NAME",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_it_may_be(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    monkeypatch.setenv(name, value)
    assert complaint() == f"{name}: {problem}"


def test_a_value_that_was_given_by_its_field_is_named_by_its_variable() -> None:
    with pytest.raises(SettingsError, match=r"^SKILLFLEET_WORKER_CONCURRENCY: '0' is not a whole number from 1"):
        load_settings(WorkerSettings, concurrency=0)


@pytest.mark.parametrize(("value", "cores"), [("1.5", 1.5), ("2", 2.0), ("0.05", 0.05)])
def test_cores_may_be_a_fraction(monkeypatch: pytest.MonkeyPatch, value: str, cores: float) -> None:
    assert load_settings(WorkerSettings).script_cpus is None
    monkeypatch.setenv("SKILLFLEET_SCRIPT_CPUS", value)
    assert load_settings(WorkerSettings).script_cpus == cores


@pytest.mark.parametrize("value", ["debug", "Debug", "DEBUG"])
def test_the_log_level_may_be_written_in_any_case(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SKILLFLEET_LOG_LEVEL", value)
    assert load_settings(WorkerSettings).log_level == "DEBUG"


@pytest.mark.parametrize("name", ["SKILLFLEET_USER_SKILLS_PATH", "SKILLFLEET_SYSTEM_SKILLS_PATH"])
def test_further_skills_may_be_missing_but_neither_empty_nor_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(name, str(tmp_path / "file"))
    assert complaint() == f"{name}: {tmp_path / 'file'} is a file; name the folder that holds the skills"
    monkeypatch.setenv(name, "/nowhere")
    load_settings(WorkerSettings)
    monkeypatch.setenv(name, " ")
    assert complaint() == f"{name}: {EMPTY}"
