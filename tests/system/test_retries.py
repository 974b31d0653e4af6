"""Scripts that fail, of a skill that allows new attempts."""

import json
import shutil
from collections.abc import Iterator

import pytest
from tests.system.conftest import Shared
from tests.system.fleet import wait_until_known
from tests.system.replies import call

SKILL = """---
name: flaky
description: For tests.
metadata: {skillfleet: {max_retries: 2, effects: idempotent}}
---
"""
FETCH = "import os, sys\nprint(os.environ['SKILLFLEET_CALL_ID'])\nsys.exit(3)\n"


@pytest.fixture
def flaky(shared: Shared) -> Iterator[Shared]:
    folder = shared.place.add_skill("flaky", {"SKILL.md": SKILL, "scripts/fetch.py": FETCH})
    wait_until_known(shared.place, "flaky")
    yield shared
    shutil.rmtree(folder)


def test_a_failing_script_is_run_again_as_often_as_its_skill_says_and_the_model_sees_the_last(flaky: Shared) -> None:
    model = flaky.place.script([call("run_skill_script", skill_name="flaky", script="fetch")], "It fails.")
    with flaky.place.fleet() as fleet:
        name = fleet.submit("Fetch.", model=model)
        entries = [entry for entry in fleet.follow(name) if entry]
        messages = fleet.transcript(name).messages
        report = fleet.status(name)
    kinds = [entry.type for entry in entries if entry.data.get("key") == "1.0"]
    attempts = ["call", "started", "failed"]
    assert kinds == [*attempts, *attempts, "call", "started", "result"]
    assert [entry.data["attempt"] for entry in entries if entry.type == "started"] == [1, 2, 3]
    (shown,) = [json.loads(message.content or "") for message in messages if message.role == "tool"]
    assert (shown["status"], shown["returncode"], shown["stdout"]) == ("failed", 3, f"{name}.1.0\n")
    assert (report.status, [made.status for made in report.tool_calls]) == ("completed", ["failed"])
    assert report.dropped_results == 0
