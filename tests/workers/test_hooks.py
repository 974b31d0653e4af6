"""The hooks of a governing skill around calls, and what the ledger keeps of a call beside its result."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.harness import eventually
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, call
from tests.workers.skill_folders import write_skill
from tests.workers.toolboxes import FIRST, DeclaringCatalog, context, digest_now, toolbox_in

from skillfleet.conversations.moves import Submitted
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.hooks import OUTPUT_CHARS, Hooks
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.tasks import CallRunner, tool_tasks
from skillfleet_workers.tools import Toolbox
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import (
    ACTIVATE,
    GET_SKILL,
    LIST_SKILLS,
    READ_FILE,
    RUN_PYTHON,
    CallMessage,
    Governing,
    Result,
    TaskSpec,
    ToolError,
    UsedSkill,
)
from skillfleet_workers.wire.execution import ScriptExecution

Parts = tuple[Toolbox, DeclaringCatalog]
DONE = ScriptExecution(status="succeeded", returncode=0, stdout="the result")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    folder = tmp_path_factory.mktemp("hooks")
    head = "---\nname: guard\ndescription: For tests.\n---\nWords."
    write_skill(folder / "skills" / "guard", {"SKILL.md": head, "rules.txt": "a rule"})
    with toolbox_in(folder) as made:
        yield made


def around(
    parts: Parts, spec: TaskSpec[Any] = RUN_PYTHON, result: Result = DONE, **governing: str
) -> tuple[Result, bool, str]:
    """What came of it, whether the call was made, and what is shown after its result."""
    toolbox, catalog = parts
    governs = Governing(**{"skill": "guard", **governing})
    message = CallMessage(ref=FIRST, request={"skill_name": "lab", "script": "print('ä')"}, governing=governs)
    made: list[bool] = []

    def make() -> Result:
        made.append(True)
        return result

    about = context()
    hooks = Hooks(lambda name, digest: catalog.find(name, None, digest), toolbox.runs)
    found = hooks.around(spec, message, about, make)
    return found, bool(made), about.notes.added


def made_by_mistake() -> Result:
    pytest.fail("it was made")


def refusal(found: Result) -> str:
    assert isinstance(found, ToolError) and found.error == "blocked_by_hook", found
    return found.message


def test_a_hook_before_the_call_is_told_of_it_in_the_sandbox_of_its_skill(parts: Parts) -> None:
    said = refusal(
        around(parts, pre_hook="cat; echo; cat rules.txt; echo $SKILLFLEET_TOOL_NAME $SKILL_NAME; exit 1")[0]
    )
    told, _, rest = said.partition("through: ")[2].partition("\n")
    assert json.loads(told) == {
        "event": "PreToolExecution", "tool": "run_python_script", "skill": "guard", "call_id": "c1.1.0",
        "input": {"skill_name": "lab", "script": "print('ä')"},
    }  # fmt: skip
    assert rest == "a rulerun_python_script guard"


def test_a_call_that_its_hook_lets_through_is_made(parts: Parts) -> None:
    assert around(parts, pre_hook="echo fine; echo 'also on stderr' >&2") == (DONE, True, "")


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        ("echo out; echo 'not this' >&2; exit 2", "through: not this"),
        ("echo only out; exit 1", "through: only out"),
        ("exit 7", "it ended with 7"),
        ("kill -KILL $$", "SIGKILL"),
        ("head -c 9000 /dev/zero | tr '\\0' x; false", "x" * OUTPUT_CHARS + " [cut]"),
    ],
)
def test_a_call_that_its_hook_refuses_is_not_made(parts: Parts, hook: str, told: str) -> None:
    found, made, _ = around(parts, pre_hook=hook)
    assert told in refusal(found) and not made


def test_a_hook_that_takes_too_long_refuses_the_call(parts: Parts) -> None:
    toolbox, catalog = parts
    message = CallMessage(ref=FIRST, request={}, governing=Governing(skill="guard", pre_hook="sleep 600"))
    hooks = Hooks(lambda name, digest: catalog.find(name), toolbox.runs, timeout_s=0.2)
    assert "Timeout" in refusal(hooks.around(RUN_PYTHON, message, context(), made_by_mistake))


def test_where_the_governing_skill_is_gone_its_hook_lets_nothing_through(parts: Parts) -> None:
    found, made, _ = around(parts, skill="gone", pre_hook="true")
    assert "There is no skill 'gone'" in refusal(found) and not made


def test_the_state_of_the_skill_that_was_activated_is_asked_for(parts: Parts) -> None:
    asked: list[tuple[str, str]] = []

    def find(name: str, digest: str) -> Skill | ToolError:
        asked.append((name, digest))
        return parts[1].find(name)

    message = CallMessage(ref=FIRST, request={}, governing=Governing(skill="guard", digest="d1", pre_hook="true"))
    assert Hooks(find, parts[0].runs).around(RUN_PYTHON, message, context(), lambda: DONE) == DONE
    assert asked == [("guard", "d1")]


@pytest.mark.parametrize("spec", [LIST_SKILLS, GET_SKILL, ACTIVATE], ids=lambda spec: str(spec.tool))
def test_discovery_has_no_hooks(parts: Parts, spec: TaskSpec[Any]) -> None:
    assert around(parts, spec, pre_hook="false", post_hook="false") == (DONE, True, "")


def test_reading_a_file_has_hooks(parts: Parts) -> None:
    refusal(around(parts, READ_FILE, pre_hook="false")[0])


def test_a_failing_hook_after_the_call_changes_nothing_but_is_heard(parts: Parts) -> None:
    found, made, added = around(parts, post_hook="echo cleaned up badly; exit 1")
    assert (found, made) == (DONE, True)
    assert added == "\n\n[the hook of the skill 'guard' after this call: cleaned up badly]"


def test_a_hook_after_the_call_is_told_the_result_and_is_quiet_where_it_succeeds(parts: Parts) -> None:
    assert around(parts, post_hook="cat")[2] == ""
    told = json.loads(around(parts, post_hook="cat; false")[2].partition("call: ")[2][:-1])
    assert (told["event"], told["result"]["status"]) == ("PostToolExecution", "succeeded")
    assert json.loads(told["result"]["shown"])["stdout"] == "the result"


def test_a_refused_call_has_no_hook_after_it(parts: Parts) -> None:
    assert around(parts, pre_hook="false", post_hook="echo after; false")[2] == ""


def test_a_cancelled_call_ends_its_hook_and_is_not_made(parts: Parts) -> None:
    toolbox, catalog = parts
    cancelled = threading.Event()
    marker = f"hook-{id(cancelled)}"
    hook = f"exec -a {marker} sleep 600"
    message = CallMessage(ref=FIRST, request={}, governing=Governing(skill="guard", pre_hook=hook))
    hooks = Hooks(lambda name, digest: catalog.find(name), toolbox.runs)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(hooks.around, RUN_PYTHON, message, context(cancelled=cancelled), made_by_mistake)
        assert eventually(lambda: runs(marker))
        cancelled.set()
        found = call.result(20)
    assert isinstance(found, ToolError) and found.error == "cancelled"
    assert not runs(marker)


def runs(marker: str) -> bool:
    """Whether a process of that name lives."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_bytes().startswith(marker.encode()):
                return True
        except OSError:
            continue
    return False


@pytest.fixture
def world(redis_urls: RedisUrls) -> Iterator[RedisWorld]:
    """With the one call of a turn out."""
    world = RedisWorld(redis_urls)
    with world.client, world.ledger.client:
        submitted(world)
        asked = asks(call("run_python_script", skill_name="guard", script="print(1)"))
        commit_steps(world, claimed(world), Submitted(), asked, due_in=60)
        yield world


def recorded(
    world: RedisWorld, parts: Parts, spec: TaskSpec[Any], request: dict[str, Any], **more: Any
) -> CallResult:
    """What the ledger keeps of a call that a worker has served."""
    around, tools = tool_tasks(parts[0])
    runner = CallRunner(world.calls, Heartbeat(world.calls), "w1", around=around)
    runner.run(spec, dict(tools)[spec], CallMessage(ref=FIRST, request=request, **more))
    world.pass_time(60)
    result = claimed(world).records[FIRST.key].result
    assert result is not None
    return result


def test_the_ledger_keeps_which_skill_was_used_and_what_the_hook_said(world: RedisWorld, parts: Parts) -> None:
    request, digest = {"skill_name": "guard", "script": "print(6 * 7)"}, digest_now(parts[1], "guard")
    governing = Governing(skill="guard", post_hook="echo too short; false")
    result = recorded(world, parts, RUN_PYTHON, request, digest=digest, governing=governing)
    assert result.status == "succeeded" and result.governing is None
    assert result.used == UsedSkill(name="guard", version="0.0.0", digest=digest)
    assert '"stdout": "42\\n"' in result.shown and result.shown.endswith("after this call: too short]")


def test_the_ledger_keeps_what_an_activated_skill_governs(world: RedisWorld, parts: Parts) -> None:
    digest = digest_now(parts[1], "guard")
    result = recorded(world, parts, ACTIVATE, {"name": "guard", "arguments": "x"}, digest=digest)
    assert result.governing == Governing(skill="guard", version="0.0.0", digest=digest)
    assert result.used is not None and result.used.digest == digest
    assert result.shown.startswith('<skill_content name="guard">\nWords.\n\nARGUMENTS: x\n</skill_content>')


def test_a_call_that_a_hook_refuses_is_a_tool_error_in_the_ledger(world: RedisWorld, parts: Parts) -> None:
    request = {"skill_name": "guard", "script": "print(1)"}
    result = recorded(world, parts, RUN_PYTHON, request, governing=Governing(skill="guard", pre_hook="false"))
    assert (result.status, json.loads(result.shown)["error"]) == ("tool_error", "blocked_by_hook")
