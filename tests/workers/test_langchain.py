"""A skill's scripts as tools of the real LangChain."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.tools import StructuredTool, ToolException
from tests.workers.skill_folders import write_skill

from skillfleet_workers.execution_api import SkillManager
from skillfleet_workers.integrations.langchain import script_tools
from skillfleet_workers.skills.errors import SkillNotFoundError

SCRIPTS = {
    "scripts/add.py": "# Add two numbers.\nimport json, sys\na = json.load(sys.stdin)\nprint(a['x'] + a['y'])",
    "scripts/fails.sh": "echo half; echo 'no such page' >&2; exit 3",
    "scripts/silent.sh": "exit 4",
    "scripts/words.sh": 'echo "$@"',
    "scripts/sub/add.py": "print('the other')",
}


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[dict[str, StructuredTool]]:
    write_skill(tmp_path / "skills" / "lab", SCRIPTS)
    with SkillManager(tmp_path / "skills", state_dir=tmp_path / "state") as manager:
        yield {tool.name: tool for tool in script_tools(manager, "lab")}


def test_there_is_a_tool_for_each_script(tools: dict[str, StructuredTool]) -> None:
    assert set(tools) == {"lab__scripts_add", "lab__scripts_sub_add", "lab__fails", "lab__silent", "lab__words"}
    add = tools["lab__scripts_add"]
    assert add.description == "Add two numbers."
    assert set(add.args) == {"arguments", "args"}


def test_a_tool_gives_what_the_script_printed(tools: dict[str, StructuredTool]) -> None:
    assert tools["lab__scripts_add"].invoke({"arguments": {"x": 40, "y": 2}}) == "42\n"
    assert tools["lab__scripts_sub_add"].invoke({}) == "the other\n"
    assert tools["lab__words"].invoke({"args": ["a b", "c"]}) == "a b c\n"


def test_a_tool_call_of_a_model_is_answered_with_a_tool_message(tools: dict[str, StructuredTool]) -> None:
    call = {"name": "lab__scripts_add", "args": {"arguments": {"x": 1, "y": 2}}, "id": "call-1", "type": "tool_call"}
    answer = tools["lab__scripts_add"].invoke(call)
    assert (answer.content, answer.tool_call_id, answer.status) == ("3\n", "call-1", "success")


def test_a_script_that_fails_raises_what_it_said(tools: dict[str, StructuredTool]) -> None:
    with pytest.raises(ToolException, match=r"\Ano such page\n\Z"):
        tools["lab__fails"].invoke({})
    with pytest.raises(ToolException, match="code 4"):
        tools["lab__silent"].invoke({})


def test_a_script_that_is_refused_raises_why(tools: dict[str, StructuredTool]) -> None:
    with pytest.raises(ToolException, match="Cannot serialize arguments"):
        tools["lab__scripts_add"].invoke({"arguments": {"x": float("nan")}})


def test_an_unknown_skill_has_no_tools(tmp_path: Path) -> None:
    with SkillManager(tmp_path, state_dir=tmp_path / "state") as manager, pytest.raises(SkillNotFoundError):
        script_tools(manager, "none")


def test_without_langchain_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['langchain_core'] = None; import skillfleet_workers.integrations.langchain"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr.rstrip().endswith(
        "ImportError: LangChain is not installed: pip install 'skillfleet[langchain]'"
    )
