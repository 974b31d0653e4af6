"""What the commands for skills say: once, in words, to any terminal."""

import io
import json
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill
from tests.workers.skills_commands import Workplace, workplace


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workplace:
    return workplace(tmp_path, monkeypatch, capsys)


def test_what_a_terminal_cannot_write_is_escaped(cli: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill(cli.skills / "plain", {"SKILL.md": "---\nname: plain\ndescription: Caf\u00e9.\n---\n"})
    write_skill(cli.skills / "broken", {"SKILL.md": "---\nname: broken\n---\n"})
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "ascii", write_through=True))
    assert cli("validate", "skills").code == 1
    assert cli("list").code == 0
    shown = written.getvalue().decode("ascii")
    assert "\\u2192 Add a description" in shown
    assert "Caf\\xe9." in shown


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["run", "plain", "x"], ["disable", "plain"]])
def test_settings_of_skills_that_cannot_be_used_are_told_once(cli: Workplace, arguments: list[str]) -> None:
    write_skill(cli.skills / "plain", {"SKILL.md": "---\nname: plain\ndescription: Plain.\n---\n"})
    settings = cli.folder / "state/skills.yaml"
    settings.parent.mkdir()
    settings.write_text("skills: 3\n")
    told = [line for line in cli(*arguments).err.splitlines() if str(settings) in line]
    assert len(told) == 1
    assert told[0].startswith("skillfleet: ")


def test_what_is_no_skill_is_judged_and_not_left_out(cli: Workplace) -> None:
    (cli.skills / "bad" / "SKILL.md").mkdir(parents=True)
    assert cli("validate", "skills").code == 1
    assert cli("validate", "--strict", "skills").code == 1
    assert "its path is empty" in cli("validate", "").out


def test_a_skill_that_requires_nothing_is_shown_without_requirements(cli: Workplace) -> None:
    cli("new", "greeter")
    assert "requires:" not in cli("show", "greeter").out


def test_stdin_that_is_no_json_is_called_stdin(cli: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("new", "greeter")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "--json: stdin is no JSON" in cli("run", "greeter", "hello", "--json", "-").err


def test_a_name_of_any_length_is_a_short_line(cli: Workplace) -> None:
    assert len(cli("show", "x" * 5000).err) < 300


def test_a_run_is_json_that_an_ascii_terminal_can_write(cli: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("new", "greeter")
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "ascii", write_through=True))
    assert cli("run", "greeter", "hello", "--", "--Zo\u00eb").code == 1
    assert "--Zo\u00eb" in json.loads(written.getvalue())["stderr"]
