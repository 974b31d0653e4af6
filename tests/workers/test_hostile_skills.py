"""One skill that is made to do harm: the others stay what they are, and nothing of it runs that must not."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill
from tests.workers.toolboxes import context, toolbox_in

from skillfleet_workers.activation import tools_of
from skillfleet_workers.given import NO_OVERRIDE, files_of
from skillfleet_workers.offering import Offering
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.digests import digest_of
from skillfleet_workers.skills.kept import Kept
from skillfleet_workers.skills.lockfile import LOCKFILE, Lock, LockedSkill, LockfileError, read_lock, write_lock
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.overrides import Overrides, set_enabled
from skillfleet_workers.skills.this_host import this_host
from skillfleet_workers.tasks import tool_tasks
from skillfleet_workers.tools import Toolbox
from skillfleet_workers.wire.contract import (
    GET_SKILL,
    RUN_PYTHON,
    ActivateSkill,
    CallMessage,
    GetSkill,
    Governing,
    SkillContent,
    ToolError,
)

HEAD = "---\ndescription: D\n{}\n---\nIt says !`echo done`.\n"
ALIASES = "x0: &x0 [a]\n" + "".join(f"x{n}: &x{n} [*x{n - 1}]\n" for n in range(1, 900))
MANIFEST = '{{"name": "bad", "version": "1.0.0", "description": "{}", "tags": ["{}"]}}'
DEEP = '{"a": ' * 800 + "1" + "}" * 800


@pytest.mark.parametrize(
    "files",
    [
        {"SKILL.md": HEAD.format(ALIASES + "parameters_schema: {a: *x899}")},
        {"SKILL.md": HEAD.format(f"parameters_schema: '{DEEP}'")},
        {"SKILL.md": HEAD.format('parameters_schema: \'{"title": "\\ud800"}\'')},
        {"skill.json": MANIFEST.format(r"half of one: \ud800", r"\udfff")},
        {"skill.json": MANIFEST.format("It describes itself.", "a"), "config.json": DEEP},
    ],
)
def test_what_one_skill_says_leaves_the_others_what_they_are(tmp_path: Path, files: dict[str, str]) -> None:
    root = tmp_path / "skills"
    write_skill(root / "good", {"SKILL.md": HEAD.format("")})
    (root / "bad" / "scripts").mkdir(parents=True)
    (root / "bad" / "scripts" / "go.py").touch()
    for name, text in files.items():
        (root / "bad" / name).write_text(text)
    catalog = SkillCatalog(root)
    offering = Offering(catalog, Overrides(tmp_path / "none"), this_host("/usr/bin:/bin", frozenset()))
    assert "good" in offering.snapshot().model_dump_json()
    for skill in catalog.list():
        assert [tool.model_dump_json() for tool in tools_of(skill)] or skill.name == "good"
        assert isinstance(files_of(skill, NO_OVERRIDE), dict)
    assert any(skill.problems for skill in catalog.list()) or catalog.skips


@pytest.fixture
def world(tmp_path: Path) -> Iterator[tuple[Path, Toolbox, Offering]]:
    """A locked skill, and the settings file of a machine that offers it."""
    root = tmp_path / "skills"
    write_skill(root / "lab", {"SKILL.md": HEAD.format("")})
    write_lock(root, Lock(skills=(LockedSkill(name="lab", version="", digest=digest_of(root / "lab"), source="."),)))
    catalog = SkillCatalog(root, kept=(kept := Kept(tmp_path / "kept")))
    host = this_host("/usr/bin:/bin", frozenset())
    offering = Offering(catalog, Overrides(tmp_path / "skills.yaml"), host, kept.keep)
    with toolbox_in(tmp_path, offering=offering) as (toolbox, _):
        object.__setattr__(toolbox, "catalog", catalog)
        yield tmp_path, toolbox, offering


def refused(toolbox: Toolbox) -> bool:
    """Whether no command of the skill runs: neither when it is activated, nor as a hook."""
    around, _ = tool_tasks(toolbox)
    governing = Governing(skill="lab", pre_hook="exit 0")
    message = CallMessage(ref=context().ref, request={}, governing=governing)
    made = around(RUN_PYTHON, message, context(), lambda: ToolError(error="made", message="", fix=""))
    activated = toolbox.activate(ActivateSkill(name="lab"), context())
    hooked = isinstance(made, ToolError) and made.error == "made"
    assert hooked == isinstance(activated, SkillContent)
    return not hooked


def test_a_skill_that_is_turned_off_runs_no_command_either(world: tuple[Path, Toolbox, Offering]) -> None:
    folder, toolbox, _ = world
    assert not refused(toolbox)
    set_enabled(folder / "skills.yaml", "lab", False)
    assert refused(toolbox)
    assert not isinstance(toolbox.get_skill(GetSkill(skill_name="lab"), context()), ToolError), GET_SKILL


@pytest.mark.parametrize("written", ["more.py", ".lib/more.sh"])
def test_a_locked_skill_that_was_changed_runs_no_command_either(
    world: tuple[Path, Toolbox, Offering], written: str
) -> None:
    folder, toolbox, _ = world
    (folder / "skills" / "lab" / written).parent.mkdir(exist_ok=True)
    (folder / "skills" / "lab" / written).touch()
    assert refused(toolbox)


def test_a_symlink_in_the_place_of_a_locked_skill_is_no_way_around_the_lock(
    world: tuple[Path, Toolbox, Offering],
) -> None:
    folder, toolbox, _ = world
    lab = folder / "skills" / "lab"
    shutil.move(lab, folder / "skills" / "evil")
    (folder / "skills" / "evil" / "more.py").touch()
    lab.symlink_to("evil")
    assert refused(toolbox)


def test_a_state_that_the_lock_does_not_know_leaves_no_copy_that_could_run_later(
    world: tuple[Path, Toolbox, Offering],
) -> None:
    folder, toolbox, offering = world
    added = folder / "skills" / "lab" / "more.py"
    added.touch()
    [told] = offering.snapshot().skills
    assert not told.eligible and told.digest
    added.unlink()
    late = toolbox.activate(ActivateSkill(name="lab"), context(digest=told.digest))
    assert isinstance(late, ToolError) and late.error == "skill_changed"


@pytest.mark.parametrize("written", ["SKILL.md", "venv/bin/python", "__pycache__/run.pyc", ".hidden/a"])
def test_a_copy_that_was_written_to_is_not_used(tmp_path: Path, written: str) -> None:
    kept = Kept(tmp_path / "kept")
    skill = write_skill(tmp_path / "skills" / "lab", {"SKILL.md": HEAD.format("")})
    digest = kept.keep(skill)
    copy = kept.find(digest, "lab")
    assert copy is not None
    (copy / written).parent.mkdir(parents=True, exist_ok=True)
    (copy / written).write_text("evil")
    assert kept.find(digest, "lab") is None
    assert isinstance(skill, Skill) and kept.keep(skill) == digest and kept.find(digest, "lab") == copy


def test_a_pipe_as_a_lock_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCKFILE)
    with pytest.raises(LockfileError, match="cannot be read"):
        read_lock(tmp_path)


def test_a_name_that_only_looks_like_that_of_the_documentation_is_none(tmp_path: Path) -> None:
    write_skill(tmp_path / "lab", {"S\N{KELVIN SIGN}ILL.md": HEAD.format(""), "go.py": ""})
    [found] = SkillCatalog(tmp_path).list()
    assert found.documentation is None
