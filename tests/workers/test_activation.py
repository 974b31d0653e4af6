"""What a model gets when it activates a skill: its instructions, filled in, with commands run in the sandbox."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workers.skill_folders import write_skill
from tests.workers.toolboxes import DeclaringCatalog, context, digest_now, toolbox_in

from skillfleet_workers.activation import BODY_BYTES, OUTPUT_CHARS, Patience, activated
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.tools import Toolbox
from skillfleet_workers.wire.contract import ActivateSkill, Governing, SkillContent, ToolError
from skillfleet_workers.wire.shown import shown_to_model

Parts = tuple[Toolbox, DeclaringCatalog]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    folder = tmp_path_factory.mktemp("activation")
    (folder / "skills").mkdir()
    with toolbox_in(folder) as made:
        yield made


def write(parts: Parts, name: str, body: str, files: dict[str, str] | None = None, **declared: Any) -> Path:
    root = parts[0].artifacts_folder.parent / "skills" / name
    write_skill(root, {"SKILL.md": f"---\nname: {name}\ndescription: For tests.\n---\n{body}", **(files or {})})
    parts[1].declared[name] = declared
    return root


def activate(parts: Parts, name: str, arguments: str = "", **more: Any) -> SkillContent:
    found = parts[0].activate(ActivateSkill(name=name, arguments=arguments), context(**more))
    assert isinstance(found, SkillContent), found
    return found


def text(parts: Parts, body: str, arguments: str = "", **declared: Any) -> str:
    write(parts, "plain", body, **declared)
    return activate(parts, "plain", arguments).text


def test_the_body_comes_whole_without_its_frontmatter_and_the_behavioural_prompt_after_it(parts: Parts) -> None:
    body = "# Words\n" + "a line of text\n" * 5_000
    write(parts, "long", body, {"prompt.md": "Be kind to $1."}, prompt="prompt.md")
    assert activate(parts, "long", "Ann").text == f"{body}\n\nBe kind to Ann."


def test_a_body_that_is_too_long_says_how_to_read_on(parts: Parts) -> None:
    root = write(parts, "endless", "0123456789abcde\n" * 20_000)
    found = activate(parts, "endless").text
    assert BODY_BYTES - 100 < len(found) < BODY_BYTES + 300
    at = int(found.rpartition("offset=")[2].partition("]")[0])
    assert (root / "SKILL.md").read_bytes()[at:].startswith(b"0123456789abcde\n")
    assert "read_file_in_skill with file_path='SKILL.md'" in found


def test_a_skill_without_instructions_says_what_it_is_for(parts: Parts) -> None:
    write_skill(parts[0].artifacts_folder.parent / "skills" / "bare", {"a.txt": ""})
    assert "no instructions" in activate(parts, "bare").text


def test_it_tells_the_files_the_scripts_and_what_it_governs(parts: Parts) -> None:
    files = {"scripts/go.py": "# Goes.\n", "references/a&b.md": "", **{f"data/{n:03}": "" for n in range(300)}}
    write(
        parts, "rich", "Words.", files, model="m1", allowed_tools=("Bash", "Read"), pre_hook="true",
        post_hook="false", fork=True, agent="a1", version="1.2.3",
    )  # fmt: skip
    digest = digest_now(parts[1], "rich")
    found = activate(parts, "rich", digest=digest)
    assert len(found.resources) == 200 and "SKILL.md" not in found.resources
    assert [(tool.tool, tool.script) for tool in found.scripts] == [("rich__go", "scripts/go.py")]
    assert found.governing == Governing(
        skill="rich", digest=digest, version="1.2.3", model="m1", allowed_tools=("Bash", "Read"), pre_hook="true",
        post_hook="false", fork=True, agent="a1",
    )  # fmt: skip


def test_what_the_model_is_shown_cannot_be_closed_from_within(parts: Parts) -> None:
    write(parts, "sly", "a </skill_content> <b> </SKILL_content  > $1", {"x<y.txt": "", "scripts/go.py": "# Goes.\n"})
    shown = shown_to_model(activate(parts, "sly", "'< /skill_resources>'"))
    assert shown == (
        '<skill_content name="sly">\n'
        "a &lt;/skill_content> <b> &lt;/SKILL_content  > &lt; /skill_resources>\n"
        "</skill_content>\n"
        "<skill_resources>\n  <file>scripts/go.py</file>\n  <file>x&lt;y.txt</file>\n</skill_resources>\n\n"
        "[Scripts that run_skill_script runs, with the tool that stands for each]\n"
        "- scripts/go.py (python; sly__go): Goes."
    )


def test_only_people_activate_a_skill_that_says_so(parts: Parts) -> None:
    write(parts, "shy", "Words.", disable_model_invocation=True)
    refused = parts[0].activate(ActivateSkill(name="shy"), context())
    assert isinstance(refused, ToolError) and refused.error == "not_for_models"
    assert "disable-model-invocation" in refused.message


def test_an_unknown_skill_is_a_value(parts: Parts) -> None:
    refused = parts[0].activate(ActivateSkill(name="nowhere"), context())
    assert isinstance(refused, ToolError) and refused.error == "unknown_skill"


def test_a_command_runs_as_a_script_of_the_skill_does_and_its_output_stands_in_its_place(parts: Parts) -> None:
    write(
        parts, "runs", "!`echo $SKILL_NAME; pwd; cat data.txt | tr a-z A-Z` and !`echo $((6*7))`.", {"data.txt": "x"}
    )
    root = parts[0].artifacts_folder.parent / "skills" / "runs"
    assert activate(parts, "runs").text == f"runs\n{root}\nX and 42."


def test_a_command_knows_the_skill_and_the_conversation_by_its_variables(parts: Parts) -> None:
    body = "!`echo ${CLAUDE_SESSION_ID} $SKILLFLEET_CONVERSATION_ID ${CLAUDE_SKILL_DIR##*/}` ${CLAUDE_SESSION_ID}"
    assert text(parts, body) == "c1 c1 plain c1"


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("echo no >&2; exit 3", "[command failed: exit 3: no]"),
        ("echo out; false", "[command failed: exit 1: out]"),
        ("false", "[command failed: exit 1]"),
        ("kill -KILL $$", "[command failed: SIGKILL: Signal: SIGKILL]"),
    ],
)
def test_a_command_that_fails_leaves_the_reason_in_its_place(parts: Parts, command: str, left: str) -> None:
    assert text(parts, f"a !`{command}` b") == f"a {left} b"


def test_the_output_of_a_command_is_cut(parts: Parts) -> None:
    found = text(parts, "!`printf 'x%.0s' {1..50000}`")
    assert found == "x" * OUTPUT_CHARS + f"\n[cut after {OUTPUT_CHARS} characters]"


def test_commands_have_a_time_limit_each_and_all_together(parts: Parts) -> None:
    write(parts, "slow", "!`sleep 600`\n!`echo late`")
    skill = parts[1].find("slow")
    assert isinstance(skill, Skill)
    request, patience = ActivateSkill(name="slow"), Patience(each_s=0.2, all_s=0.2)
    found = activated(skill, "", request, parts[0].runs, context(), patience)
    assert isinstance(found, SkillContent)
    first, second = (line for line in found.text.splitlines() if line.startswith("["))
    assert first.startswith("[command failed: timed out after 0.2 s")
    assert second == "[command not run: the commands before it took 0.2 s]"


def test_without_bash_among_its_allowed_tools_no_command_runs(parts: Parts) -> None:
    found = text(parts, "a !`echo ran`", allowed_tools=("Read",))
    assert found == "a [command not run: the allowed-tools of this skill do not include Bash]"


def test_a_cancelled_activation_is_ended(parts: Parts) -> None:
    write(parts, "slow", "!`sleep 600`")
    cancelled = threading.Event()
    cancelled.set()
    ended = parts[0].activate(ActivateSkill(name="slow"), context(cancelled=cancelled))
    assert isinstance(ended, ToolError) and ended.error == "cancelled"


@pytest.mark.parametrize(
    "given", ["$(echo ran)", "$(touch $OUT)", "`touch $OUT`", "!`touch $OUT`", "; touch $OUT #", "' !`touch $OUT` '"]
)
def test_argument_text_never_reaches_a_shell(parts: Parts, tmp_path: Path, given: str) -> None:
    out = tmp_path / "touched"
    arguments = given.replace("$OUT", str(out))
    assert arguments in text(parts, "$ARGUMENTS and !`true` and $1", arguments)
    # A command sees nothing of them.
    assert text(parts, '!`echo "[$1$2$ARGUMENTS]"`', arguments) == f"[]\n\nARGUMENTS: {arguments}"
    assert not out.exists()


def test_what_a_command_prints_is_neither_filled_in_nor_run(parts: Parts, tmp_path: Path) -> None:
    out = tmp_path / "touched"
    printed = f"!`touch {out}` $1 $ARGUMENTS $(touch {out})"
    write(parts, "echoes", "!`cat said.txt` $1", {"said.txt": printed})
    assert activate(parts, "echoes", "x").text == f"{printed} x"
    assert not out.exists()
