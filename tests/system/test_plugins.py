"""Models and runtimes of other distributions, found by their entry points."""

import json

import pytest
from tests.distributions import installed
from tests.system.fleet import Place

ADAPTER = """
from skillfleet.conversations.messages import Message
from skillfleet.llm.base import ModelReply

class Echo:
    def __init__(self, manner):
        self.manner = manner
    def reply(self, request, hear):
        said = request.messages[-1].content
        if said == "fail":
            raise ValueError("no answer from here")
        return ModelReply(Message(role="assistant", content=said.upper() if self.manner == "loud" else said))
"""

RUNTIME = """
from skillfleet_workers.runtimes.process import ProcessRuntime

class Noted(ProcessRuntime):
    name = "noted"
    def run(self, request):
        return super().run(request).model_copy(update={"runtime": self.name})
"""

NOTED_SKILL = """---
name: noted
description: Runs on a runtime of its own.
metadata:
  skillfleet:
    runtime: noted
---
"""


@pytest.fixture
def extended(place: Place) -> Place:
    folder = installed(place.folder / "other", "echoing", ADAPTER, {"skillfleet.models": "echo = echoing:Echo"})
    installed(folder, "noting", RUNTIME, {"skillfleet.runtimes": "noted = noting:Noted"})
    return Place(place.folder, {"PYTHONPATH": str(folder)})


def test_a_registered_adapter_answers_conversations_without_a_provider(extended: Place) -> None:
    done = extended.cli("submit", "--model", "echo:loud", "who is there")
    assert (done.returncode, done.stdout) == (0, "WHO IS THERE\n"), done.stderr


def test_an_adapter_that_raises_fails_its_conversation_with_the_reason(extended: Place) -> None:
    done = extended.cli("submit", "--json", "--model", "echo:loud", "fail")
    report = json.loads(done.stdout)
    assert (done.returncode, report["status"], report["error"]["code"]) == (1, "failed", "model_adapter_failed")
    assert "ValueError: no answer from here" in report["error"]["message"]


def test_a_skill_runs_on_the_registered_runtime_that_it_names(extended: Place) -> None:
    folder = extended.skills / "noted"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(NOTED_SKILL)
    (folder / "scripts" / "hello.py").write_text("print('hello')\n")
    done = extended.cli("skills", "run", "noted", "hello")
    execution = json.loads(done.stdout)
    assert (execution["stdout"], execution["runtime"]) == ("hello\n", "noted"), done.stderr
