"""What a worker says of a call before it runs: whether it may be run again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery.exceptions import Ignore
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, call

from skillfleet.conversations.moves import Submitted
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.tasks import CallRunner
from skillfleet_workers.terms import CallTerms, SkillTerms
from skillfleet_workers.tools import CallContext
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import (
    EXECUTE_CODE,
    LIST_SKILLS,
    READ_FILE,
    RUN_PYTHON,
    RUN_SCRIPT,
    SEARCH_SPEC,
    CallMessage,
    CallRef,
    RunSkillScript,
    TaskSpec,
)
from skillfleet_workers.wire.execution import Isolation, ScriptExecution

FIRST = CallRef(conversation_id="c1", turn=1, index=0)
DECLARED = {
    "plain": "",
    "online": "network: host",
    "sends": "effects: unsafe, max_retries: 3",
    "asks": "network: host, effects: pure, max_retries: 3",
    "flaky": "max_retries: 2",
}


def catalog_in(folder: Path) -> SkillCatalog:
    for name, keys in DECLARED.items():
        (folder / name).mkdir(parents=True)
        own = f"metadata: {{skillfleet: {{{keys}}}}}\n" if keys else ""
        (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: For tests.\n{own}---\n")
    return SkillCatalog(folder)


def message(skill: str | None) -> CallMessage:
    request: dict[str, Any] = {"script": "print(1)"} | ({"skill_name": skill} if skill else {})
    return CallMessage(ref=FIRST, request=request)


@pytest.mark.parametrize(
    ("spec", "skill", "isolation", "terms"),
    [
        (RUN_PYTHON, "plain", "sandbox", CallTerms("idempotent")),
        (RUN_PYTHON, "plain", "container", CallTerms("idempotent")),
        (RUN_PYTHON, "plain", "process", CallTerms("unsafe")),
        (EXECUTE_CODE, "plain", "sandbox", CallTerms("idempotent")),
        (RUN_SCRIPT, "online", "sandbox", CallTerms("unsafe")),
        (RUN_SCRIPT, "sends", "sandbox", CallTerms("unsafe")),
        (RUN_SCRIPT, "asks", "process", CallTerms("pure", 3)),
        (RUN_SCRIPT, "flaky", "sandbox", CallTerms("idempotent", 2)),
        (RUN_SCRIPT, "flaky", "process", CallTerms("unsafe")),
        (RUN_PYTHON, "flaky", "sandbox", CallTerms("idempotent")),
        (RUN_PYTHON, "unknown", "sandbox", CallTerms("unsafe")),
        (LIST_SKILLS, None, "none", CallTerms("pure")),
        (READ_FILE, "sends", "none", CallTerms("pure")),
        (SEARCH_SPEC, "online", "none", CallTerms("pure")),
    ],
)
def test_what_the_skill_declares_holds_and_else_what_its_run_could_reach(
    spec: TaskSpec[Any], skill: str | None, isolation: Isolation, terms: CallTerms, tmp_path: Path
) -> None:
    assert SkillTerms(catalog_in(tmp_path), lambda _: isolation)(spec, message(skill)) == terms


@pytest.fixture
def world(redis_urls: RedisUrls) -> Iterator[RedisWorld]:
    """With the one call of a turn out."""
    world = RedisWorld(redis_urls)
    with world.client, world.ledger.client:
        submitted(world)
        asked = asks(call("run_skill_script", skill_name="flaky", script="fetch"))
        commit_steps(world, claimed(world), Submitted(), asked, due_in=60)
        yield world


@pytest.mark.parametrize(
    ("done", "recorded", "failures"),
    [
        (ScriptExecution(status="failed", returncode=3), False, 1),
        (ScriptExecution(status="timed_out", returncode=124), False, 1),
        (ScriptExecution(status="oom_killed", returncode=0), False, 1),
        (ScriptExecution(status="succeeded", returncode=0), True, 0),
        (ScriptExecution(status="failed", error="nothing ran"), True, 0),
    ],
    ids=lambda value: value.status if isinstance(value, ScriptExecution) else "",
)
def test_a_script_that_ran_and_failed_is_to_be_run_again_where_its_skill_says_so(
    world: RedisWorld, done: ScriptExecution, recorded: bool, failures: int, tmp_path: Path
) -> None:
    def tool(request: RunSkillScript, context: CallContext) -> ScriptExecution:
        return done

    terms = SkillTerms(catalog_in(tmp_path), lambda _: "sandbox")
    runner = CallRunner(world.calls, Heartbeat(world.calls), "w1", terms)
    runner.run(RUN_SCRIPT, tool, message("flaky"))
    with pytest.raises(Ignore):
        runner.run(RUN_SCRIPT, tool, message("flaky"))
    world.pass_time(60)
    record = claimed(world).records[FIRST.key]
    assert (record.result is not None, record.failures, record.effects) == (recorded, failures, "idempotent")
