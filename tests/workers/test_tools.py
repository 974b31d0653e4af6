"""What each tool does on a worker, with real skills, a real environment and the real process runtime."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill
from tests.workers.toolboxes import context, toolbox_in

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.tasks import tool_tasks
from skillfleet_workers.tools import CallContext, Toolbox
from skillfleet_workers.wire.contract import (
    READ_LIMIT_BYTES,
    TASKS,
    CallRef,
    Document,
    GetSkill,
    ListSkills,
    ReadFileInSkill,
    RunPythonScript,
    SkillSummary,
    ToolError,
    UsedSkill,
)
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.published import PublishedSkill, Snapshot
from skillfleet_workers.wire.shown import shown_to_model

SETTING_S = 41
CONTEXT = CallContext(CallRef(conversation_id="c", turn=1, index=0), None, threading.Event())


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("tools")
    skills = {"plain": "description: Plain.", "slow": "description: Slow.\ntimeout: 17"}
    for name, fields in skills.items():
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\n{fields}\n---\nWords.\n")
    (folder / "skills" / "plain" / "long.txt").write_text("a line of text\n" * 5000)
    (folder / "work").mkdir()
    runtime = ProcessRuntime(folder / "work")
    environments = Environments(folder / "environments")
    catalog = SkillCatalog(folder / "skills")
    yield Toolbox(catalog, environments, runtime, SETTING_S, folder / "artifacts")
    runtime.close()


def run(toolbox: Toolbox, script: str, skill: str = "plain", timeout: int | None = None) -> ScriptExecution:
    done = toolbox.run_python(RunPythonScript(skill_name=skill, script=script, timeout=timeout), CONTEXT)
    assert isinstance(done, ScriptExecution), done
    return done


@pytest.mark.parametrize(
    ("skill", "asked", "holds"),
    [("slow", 5, 5), ("slow", None, 17), ("plain", None, SETTING_S)],
    ids=["the call's", "else the skill's", "else the setting's"],
)
def test_which_timeout_holds(toolbox: Toolbox, skill: str, asked: int | None, holds: int) -> None:
    assert run(toolbox, "print(1)", skill, asked).timeout == holds


def test_a_script_sees_a_clean_environment_and_the_names_it_can_count_on(
    toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_OF_THE_WORKER", "x")
    seen = json.loads(run(toolbox, "import json, os; print(json.dumps(dict(os.environ)))").stdout)
    assert {"SKILL_NAME", "SKILL_BASE_DIR", "SKILL_VERSION", "SKILLKIT_VERSION", "SKILLFLEET_VERSION"} <= set(seen)
    assert {"PATH", "HOME", "LANG", "TMPDIR", "SKILLFLEET_OUTPUT_DIR", "SKILLFLEET_CALL_ID"} <= set(seen)
    assert (seen["SKILL_NAME"], seen["SKILLFLEET_CALL_ID"]) == ("plain", "c.1.0")
    assert "A_SECRET_OF_THE_WORKER" not in seen


def test_a_script_runs_in_its_skills_folder_and_leaves_nothing_but_what_it_hands_back(toolbox: Toolbox) -> None:
    script = (
        "import os, pathlib; print(os.getcwd())\n"
        "pathlib.Path(os.environ['SKILLFLEET_OUTPUT_DIR'], 'chart').write_bytes(b'\\x89PNG\\r\\n\\x1a\\n')\n"
        "pathlib.Path(os.environ['TMPDIR'], 'scrap').touch()"
    )
    done = run(toolbox, script)
    assert done.stdout.strip() == done.working_directory == str(toolbox.artifacts_folder.parent / "skills" / "plain")
    (artifact,) = done.artifacts
    assert (artifact.path, artifact.bytes, artifact.media_type) == ("chart", 8, "image/png")
    assert Path(artifact.location).read_bytes() == b"\x89PNG\r\n\x1a\n"
    assert not list((toolbox.artifacts_folder.parent / "work").iterdir())


def test_a_long_file_is_cut_and_read_on_where_it_was_cut(toolbox: Toolbox) -> None:
    pieces, offset = [], 0
    while True:
        piece = toolbox.read_file(ReadFileInSkill(skill_name="plain", file_path="long.txt", offset=offset), CONTEXT)
        assert isinstance(piece, Document) and len(piece.text.encode()) <= READ_LIMIT_BYTES
        pieces.append(piece.text)
        if piece.next_offset is None:
            break
        assert f"offset={piece.next_offset}" in shown_to_model(piece)
        offset = piece.next_offset
    assert len(pieces) > 1 and "".join(pieces) == "a line of text\n" * 5000


def test_a_conversation_sees_only_the_skills_that_it_may_use(toolbox: Toolbox) -> None:
    limited = CallContext(CONTEXT.ref, ("plain",), threading.Event())
    assert [skill.name for skill in toolbox.list_skills(ListSkills(), limited).skills] == ["plain"]
    refused = toolbox.get_skill(GetSkill(skill_name="slow"), limited)
    assert isinstance(refused, ToolError) and refused.error == "unknown_skill"


def test_the_skills_of_a_worker_are_listed_but_for_those_that_only_people_activate(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    with toolbox_in(tmp_path) as (toolbox, catalog):
        for name in ("a", "b", "c"):
            write_skill(tmp_path / "skills" / name, {"SKILL.md": f"---\nname: {name}\ndescription: D.\n---\n"})
        catalog.declared |= {"a": {"tags": ("x", "y"), "version": "1.2.0"}, "b": {"tags": ("x",)}}
        catalog.declared["c"] = {"disable_model_invocation": True}
        listed = toolbox.list_skills(ListSkills(), context()).skills
        assert listed == (
            SkillSummary(name="a", description="D.", version="1.2.0", tags=("x", "y")),
            SkillSummary(name="b", description="D.", version="0.0.0", tags=("x",)),
        )
        for tags, names in ((("x",), "ab"), (("y", "x"), "a"), (("z",), "")):
            assert "".join(s.name for s in toolbox.list_skills(ListSkills(tags=tags), context()).skills) == names


def test_a_conversation_lists_the_skills_of_its_snapshot(toolbox: Toolbox) -> None:
    published = [
        PublishedSkill(name="able", version="1.0.0", digest="1", description="A.", tags=("x",)),
        PublishedSkill(name="able", version="1.1.0", digest="2", description="A."),
        PublishedSkill(name="hidden", version="1.0.0", digest="3", description="H.", hidden=True),
        PublishedSkill(name="unable", version="1.0.0", digest="4", description="U.", eligible=False, reason="no git"),
        PublishedSkill(name="forbidden", version="1.0.0", digest="5", description="F."),
    ]
    pinned = replace(toolbox, snapshots={"s1": Snapshot(skills=tuple(published))}.get)

    def listed(snapshot: str, *tags: str) -> list[tuple[str, str]]:
        about = context(snapshot=snapshot, skills=("able", "hidden", "unable", "plain"))
        return [(skill.name, skill.version) for skill in pinned.list_skills(ListSkills(tags=tags), about).skills]

    assert listed("s1") == [("able", "1.0.0"), ("able", "1.1.0")]
    assert listed("s1", "x") == [("able", "1.0.0")]
    assert listed("") == listed("gone") == [("plain", "0.0.0")]


def test_a_call_notes_the_skill_that_it_is_about_and_the_state_of_it(
    toolbox: Toolbox,
) -> None:
    knowing = replace(toolbox, digest_of=lambda skill: f"of {skill.name}")
    plain = toolbox.catalog.find("plain")
    assert isinstance(plain, Skill)
    now = toolbox.catalog.digest_of(plain)
    for digest, noted in ((now, now), ("", "of plain")):
        about = context(digest=digest)
        knowing.get_skill(GetSkill(skill_name="plain"), about)
        assert about.notes.used == UsedSkill(name="plain", version="0.0.0", digest=noted)
    about = context()
    knowing.get_skill(GetSkill(skill_name="nowhere"), about)
    knowing.list_skills(ListSkills(), about)
    assert about.notes.used is None


def test_every_task_of_the_contract_has_its_tool(toolbox: Toolbox) -> None:
    _, tools = tool_tasks(toolbox)
    assert {spec for spec, _ in tools} == set(TASKS) and len(tools) == len(TASKS)
