"""skills list, show, validate, new, run, enable and disable: what they print, and the code that they end with."""

import io
import json
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill
from tests.workers.skills_commands import Workplace, workplace

SKILL_MD = "---\nname: {0}\ndescription: What {0} does.\n{1}---\nText.\n"
BROKEN = {"SKILL.md": "---\nname: broken\n---\n"}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workplace:
    return workplace(tmp_path, monkeypatch, capsys)


def put(root: Path, name: str, more: str = "", **files: str) -> None:
    write_skill(root / name, {"SKILL.md": SKILL_MD.format(name, more), **files})


def user_root(cli: Workplace) -> Path:
    return cli.folder / ".config/skillfleet/skills"


def test_a_list_has_what_can_run_and_all_of_it_the_rest_with_the_reason(cli: Workplace) -> None:
    put(cli.skills, "good", "metadata: {skillfleet: {tags: [a, b]}}\n")
    put(user_root(cli), "good")
    write_skill(cli.skills / "broken", BROKEN)
    put(cli.skills, "off")
    cli("disable", "off")
    plain = cli("list")
    assert "good" in plain.out and "off" not in plain.out.replace("off, ", "")
    assert "3 more cannot run, or are hidden, shadowed or skipped" in plain.out
    told = {(one["name"], one["state"]): one["reason"] for one in cli("list", "--all", "--json").json}
    assert told["good", "eligible"] == ""
    assert str(cli.skills / "good") in told["good", "shadowed"]
    assert "description" in told["broken", "skipped"]
    assert "turned off" in told["off", "ineligible"]
    assert "off: ineligible: it is turned off on this machine" in cli("list", "--all").out


def test_an_empty_list_says_how_to_begin(cli: Workplace) -> None:
    assert "skills new NAME" in cli("list").out
    assert cli("list", "--json").json == []


def test_a_skill_is_shown_with_all_that_is_known_of_it(cli: Workplace) -> None:
    put(cli.skills, "lab", "version: 1.2.0\nunheard-of: x\n", **{"scripts/add.py": '"""Adds."""\n', "b.sh": "echo"})
    shown = cli("show", "lab", "--json")
    assert shown.code == 0
    told = shown.json
    assert (told["name"], told["version"], told["eligible"], told["health"]) == ("lab", "1.2.0", True, "healthy")
    assert told["folder"] == str(cli.skills / "lab") and len(told["digest"]) == 64 and told["source"] is None
    assert [(one["script"], one["tool"]) for one in told["scripts"]] == [
        ("scripts/add.py", "lab__add"), ("b.sh", "lab__b"),
    ]  # fmt: skip
    lines = cli("show", "lab").out
    assert "version: 1.2.0" in lines and "script: scripts/add.py (python; lab__add) Adds." in lines


def test_a_skill_that_was_skipped_is_shown_with_its_problems(cli: Workplace) -> None:
    write_skill(cli.skills / "broken", BROKEN)
    shown = cli("show", "broken", "--json")
    assert (shown.code, shown.json["state"]) == (1, "skipped") and shown.json["problems"]
    refused = cli("run", "broken", "x")
    assert refused.code == 2 and "'broken' cannot be used" in refused.err


@pytest.mark.parametrize("command", [["show"], ["run", "", "x"], ["enable"], ["disable"]])
def test_an_unknown_skill_is_told_with_those_of_a_close_name(cli: Workplace, command: list[str]) -> None:
    put(cli.skills, "pdf-tools")
    words = [word or "pdf-tool" for word in command]
    done = cli(*(words if "pdf-tool" in words else [*words, "pdf-tool"]))
    assert (done.code, done.out) == (2, "")
    assert done.err == "skillfleet: there is no skill 'pdf-tool'; did you mean pdf-tools?\n"


def test_what_a_terminal_would_obey_is_shown_as_it_is(cli: Workplace) -> None:
    put(cli.skills, "lab", **{"scripts/a\x1b[2Jb.py": ""})
    assert "\x1b" not in cli("show", "lab").out + cli("validate", "a\x1b[2J").out + cli("show", "a\x1b[2J").err


def test_validate_judges_a_folder_a_file_and_a_folder_of_skills(cli: Workplace) -> None:
    put(cli.skills, "good")
    write_skill(cli.skills / "deeper/broken", BROKEN)
    for path in ("skills/good", "skills/good/SKILL.md"):
        done = cli("validate", path, "--json")
        assert (done.code, [(one["path"], one["valid"]) for one in done.json]) == (0, [("skills/good", True)])
    every = cli("validate", "skills", "--json")
    assert (every.code, {one["path"]: one["valid"] for one in every.json}) == (
        1, {"skills/deeper/broken": False, "skills/good": True},
    )  # fmt: skip
    (problem,) = next(one["problems"] for one in every.json if not one["valid"])
    assert set(problem) == {"file", "line", "code", "severity", "message", "fix"}
    assert "skills/deeper/broken: invalid\n  " in cli("validate", "skills").out


def test_strict_refuses_what_only_this_program_reads(cli: Workplace) -> None:
    write_skill(cli.skills / "folder", {"SKILL.md": SKILL_MD.format("another", "")})
    assert cli("validate", "skills/folder").code == 0
    assert cli("validate", "skills/folder", "--strict").code == 1


@pytest.mark.parametrize(("path", "code"), [("nowhere", "not-found"), ("empty", "no-skill"), ("file", "no-skill")])
def test_what_is_no_skill_at_all_is_invalid(cli: Workplace, path: str, code: str) -> None:
    (cli.folder / "empty").mkdir()
    (cli.folder / "file").touch()
    done = cli("validate", path, "--json")
    assert (done.code, done.json[0]["valid"], done.json[0]["problems"][0]["code"]) == (1, False, code)


@pytest.mark.parametrize("description", ["Greets: \"all\" # of 'them' \\ {x} é 🙂", "Plain."])
def test_a_new_skill_is_valid_and_runs(cli: Workplace, description: str) -> None:
    assert cli("new", "my-first", "--description", description).code == 0
    assert cli("validate", "--strict", "skills/my-first").code == 0
    shown = cli("show", "my-first", "--json").json
    assert (shown["description"], shown["version"], shown["problems"]) == (description, "0.1.0", [])
    done = cli("run", "my-first", "hello", "--json", '{"name": "Ada"}')
    assert (done.code, json.loads(done.json["stdout"]), done.err) == (0, {"greeting": "Hello, Ada!"}, "")
    assert done.json["status"] == "succeeded" and done.json["skill_name"] == "my-first"


def test_a_new_skill_takes_no_bad_name_and_no_place_that_is_taken(cli: Workplace) -> None:
    for name in ("Bad", "a--b", "-a", "a_b", "../a", "", "a" * 65):
        assert cli("new", "--", name).code == 2
    for description in ("", " ", "a\nb", "x" * 1025):
        assert cli("new", "good", "--description", description).code == 2
    assert cli.inside() == []
    assert cli("new", "good", "--folder", "else/where").code == 0
    (cli.folder / "else/where/good/SKILL.md").write_text("mine")
    again = cli("new", "good", "--folder", "else/where")
    assert again.code == 2 and "is there already" in again.err
    assert (cli.folder / "else/where/good/SKILL.md").read_text() == "mine"


def test_run_gives_arguments_and_a_command_line_and_ends_as_the_script_does(
    cli: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import sys; print(sys.argv[1:], sys.stdin.read()); sys.exit(len(sys.argv) > 2)"
    put(cli.skills, "lab", **{"scripts/echo.py": script})
    good = cli("run", "lab", "echo", "--", "--json")
    assert (good.code, good.json["stdout"]) == (0, "['--json'] \n")
    assert cli("run", "./skills/lab", "echo", "--", "-a", "-b").code == 1
    monkeypatch.setattr("sys.stdin", io.StringIO('{"x": 1}'))
    assert cli("run", "lab", "echo", "--json", "-").json["stdout"] == '[] {"x": 1}\n'


def test_run_ends_a_script_that_takes_too_long(cli: Workplace) -> None:
    put(cli.skills, "lab", **{"scripts/sleep.sh": "sleep 600"})
    done = cli("run", "lab", "sleep", "--timeout", "0.3")
    assert (done.code, done.json["status"], done.json["timeout"]) == (1, "timed_out", 0.3)


@pytest.mark.parametrize("given", ["[1]", "{", '"x"', "NaN", "[" * 100_000])
def test_run_refuses_arguments_that_are_no_object(cli: Workplace, given: str) -> None:
    put(cli.skills, "lab", **{"scripts/a.py": ""})
    done = cli("run", "lab", "a", "--json", given)
    assert (done.code, done.out) == (2, "") and done.err.startswith("skillfleet: --json")


def test_run_refuses_a_script_that_is_not_there(cli: Workplace) -> None:
    put(cli.skills, "lab", **{"scripts/a.py": ""})
    for script in ("b", "../../x.py"):
        done = cli("run", "lab", script)
        assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)


def test_a_disabled_skill_does_not_run_until_it_is_enabled(cli: Workplace) -> None:
    put(cli.skills, "lab", **{"scripts/a.py": ""})
    off = cli("disable", "lab")
    assert (off.code, off.out) == (0, f"lab: disabled in {cli.folder / 'state/skills.yaml'}\n")
    refused = cli("run", "lab", "a")
    assert (refused.code, refused.out) == (1, "") and "lab cannot run here" in refused.err
    assert cli("enable", "lab").code == 0
    assert cli("run", "lab", "a").code == 0


def test_a_redis_that_does_not_answer_leaves_what_this_machine_knows(
    cli: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cli.skills, "lab")
    monkeypatch.setenv("SKILLFLEET_REDIS_URL", f"unix://{cli.folder}/no.sock")
    done = cli("list", "--json")
    assert (done.code, [one["name"] for one in done.json]) == (0, ["lab"])
    assert "cannot be asked" in done.err and len(done.err.splitlines()) == 1
