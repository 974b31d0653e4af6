"""Seed 001's eight errors: each is raised before anything runs, and reads as that seed says."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.execution_api import SkillManager
from skillfleet_workers.script_calls import interpreter_of
from skillfleet_workers.skills.errors import (
    ArgumentSerializationError,
    ArgumentSizeError,
    InterpreterNotFoundError,
    PathSecurityError,
    ScriptNotFoundError,
    ScriptPermissionError,
    ScriptRefusedError,
    SkillNotFoundError,
    ToolRestrictionError,
)
from skillfleet_workers.skills.script_input import MAX_ARGUMENT_BYTES
from skillfleet_workers.skills.scripts import scripts_of

WITNESS = "import os; from pathlib import Path; Path(os.environ['SKILLFLEET_OUTPUT_DIR'], 'it-ran').touch()"


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[SkillManager]:
    """With a skill `lab`, whose script `witness` leaves a file when it runs."""
    write_skill(
        tmp_path / "skills" / "lab", {"scripts/witness.py": WITNESS, "scripts/old.bat": "", "scripts/a.ps1": ""}
    )
    with SkillManager(tmp_path / "skills", state_dir=tmp_path / "state") as manager:
        yield manager


@pytest.fixture
def lab(manager: SkillManager, tmp_path: Path) -> Path:
    return tmp_path / "skills" / "lab"


def ran(tmp_path: Path) -> bool:
    return any((tmp_path / "state").rglob("it-ran"))


def refusal(
    manager: SkillManager, script: str = "witness", arguments: dict[str, Any] | None = None, skill: str = "lab"
) -> ScriptRefusedError:
    with pytest.raises(ScriptRefusedError) as refused:
        manager.execute_skill_script(skill, script, arguments)
    return refused.value


def test_the_witness_does_run_where_nothing_is_wrong(manager: SkillManager, tmp_path: Path) -> None:
    assert manager.execute_skill_script("lab", "witness").success
    assert ran(tmp_path)


@pytest.mark.parametrize("name", ["other", "", "../lab", "lab/../lab"])
def test_an_unknown_skill_is_not_found(manager: SkillManager, name: str) -> None:
    error = refusal(manager, skill=name)
    assert isinstance(error, SkillNotFoundError) and f"Skill '{name}' not found" in str(error)


def test_an_unknown_script_is_not_found_and_those_that_are_there_are_named(manager: SkillManager) -> None:
    error = refusal(manager, "extract")
    assert isinstance(error, ScriptNotFoundError)
    assert str(error) == "Script 'extract' not found in skill 'lab', which has scripts/witness.py"


@pytest.mark.parametrize(("script", "interpreter"), [("old", "cmd"), ("scripts/a.ps1", "powershell")])
def test_a_script_for_another_system_has_no_interpreter(manager: SkillManager, script: str, interpreter: str) -> None:
    error = refusal(manager, script)
    assert isinstance(error, InterpreterNotFoundError)
    assert str(error).startswith(f"Interpreter '{interpreter}' not found in PATH for scripts/")


def test_an_interpreter_that_is_not_on_the_path_is_named(tmp_path: Path) -> None:
    (script,) = scripts_of(write_skill(tmp_path / "s", {"scripts/p.pl": "print 1"}))
    with pytest.raises(InterpreterNotFoundError, match=r"^Interpreter 'perl' not found in PATH for scripts/p\.pl$"):
        interpreter_of(script, path=str(tmp_path))


@pytest.mark.parametrize(
    "script", ["../../outside.py", "/etc/passwd", "scripts/../../x.py", "a\\b.py", "a\0b", "link", "away/x"]
)
def test_a_path_out_of_the_skill_is_refused(manager: SkillManager, lab: Path, tmp_path: Path, script: str) -> None:
    (tmp_path / "outside.py").write_text(WITNESS)
    (lab / "scripts" / "link.py").symlink_to(tmp_path / "outside.py")
    write_skill(tmp_path / "folder", {"x": WITNESS})
    (lab / "scripts" / "away").symlink_to(tmp_path / "folder")
    assert isinstance(refusal(manager, script), PathSecurityError)
    assert not ran(tmp_path)


@pytest.mark.parametrize(("bit", "name"), [(stat.S_ISUID, "setuid"), (stat.S_ISGID, "setgid")])
def test_a_script_with_the_rights_of_its_owner_is_refused(
    manager: SkillManager, lab: Path, tmp_path: Path, bit: int, name: str
) -> None:
    (lab / "scripts" / "witness.py").chmod(0o755 | bit)
    error = refusal(manager)
    assert isinstance(error, ScriptPermissionError)
    assert str(error) == f"Script has {name} bit: scripts/witness.py"
    assert not ran(tmp_path)


def circular() -> dict[str, Any]:
    around: dict[str, Any] = {}
    around["again"] = around
    return around


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (circular(), "circular reference detected"),
        ({"a": object()}, "not JSON serializable"),
        ({"a": float("nan")}, "not JSON compliant"),
        ({"a": "\ud800"}, "surrogates"),
        ({("a",): 1}, "keys must be"),
    ],
    ids=["circular", "object", "nan", "surrogate", "key"],
)
def test_arguments_that_are_no_json_are_refused(
    manager: SkillManager, tmp_path: Path, arguments: dict[str, Any], reason: str
) -> None:
    error = refusal(manager, arguments=arguments)
    assert isinstance(error, ArgumentSerializationError)
    assert str(error).startswith("Cannot serialize arguments: ") and reason in str(error)
    assert not ran(tmp_path)


def test_arguments_may_be_10_mb_as_json_and_no_byte_more(manager: SkillManager) -> None:
    around = len('{"a": ""}')
    assert manager.execute_skill_script("lab", "witness", {"a": "x" * (MAX_ARGUMENT_BYTES - around)}).success
    error = refusal(manager, arguments={"a": "x" * (MAX_ARGUMENT_BYTES - around + 1)})
    assert isinstance(error, ArgumentSizeError)
    assert str(error) == "Arguments too large: 10485761 bytes (max 10MB)"


@pytest.mark.parametrize(
    ("allowed", "runs"),
    [("", True), ("allowed-tools: Bash", True), ("allowed-tools: Read Bash(git add:*)", True),
     ("allowed-tools: [Read, 'Bash(git:*)']", True), ("allowed-tools: Read, Bash", True),
     ("allowed-tools: run_skill_script", True), ("allowed-tools: [Read, lab__witness]", True),
     ("allowed-tools: []", False), ("allowed-tools: Read", False), ("allowed-tools: BashOutput Read(Bash)", False)],
)  # fmt: skip
def test_a_skill_whose_allowed_tools_lack_bash_runs_no_script(
    manager: SkillManager, lab: Path, tmp_path: Path, allowed: str, runs: bool
) -> None:
    (lab / "SKILL.md").write_text(f"---\nname: lab\ndescription: Lab.\n{allowed}\n---\n")
    if runs:
        assert manager.execute_skill_script("lab", "witness").success
        return
    assert isinstance(refusal(manager), ToolRestrictionError)
    assert not ran(tmp_path)


def test_every_error_is_a_tool_error_with_a_code_and_a_fix() -> None:
    class AnyFact(dict[str, object]):
        def __missing__(self, name: str) -> str:
            return name

    errors = {kind: (kind.__doc__ or "").format_map(AnyFact()) for kind in ScriptRefusedError.__subclasses__()}
    assert len([kind for kind in errors if kind.__module__ == ScriptRefusedError.__module__]) == 8
    assert all(errors.values())
    told = ScriptPermissionError(bit="setuid", script="a.py").tool_error()
    assert (told.error, told.message) == ("script_permission", "Script has setuid bit: a.py.")
    assert all(kind.fix for kind in errors)
