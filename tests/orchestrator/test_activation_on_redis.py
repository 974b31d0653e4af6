"""An activated skill from the provider's request to the ledger in redis and back; workers answer as a test says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import SecretStr
from tests.conversation_steps import make_spec
from tests.model_answers import Completion
from tests.model_server import KEY, ModelServer
from tests.orchestrator.driver_parts import Workers, running
from tests.skill_snapshots import Shelf, governing, snapshot

from skillfleet.app import known_models, models_of
from skillfleet.conversations.asking import Asking
from skillfleet.conversations.driver import Driver
from skillfleet.conversations.memory_calls import MemoryCallLedger
from skillfleet.conversations.memory_store import MemoryStore
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.conversations.runs import ToolRun
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.calls import CallLedger, CallResult
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import DEFAULT_TENANT, UsedSkill

PATIENCE_S = 30.0
USED = UsedSkill(name="pdf", version="1.0.0", digest="digest-of-pdf-1.0.0")


class Activating(Workers):
    """Takes calls as they are sent, and knows two skills; `seen`: under which skill each was sent."""

    def __init__(self, calls: CallLedger) -> None:
        super().__init__(MemoryCallLedger(MemoryStore()))
        self._calls = calls
        self.seen: list[tuple[str, str | None]] = []

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        if self._calls.claim(run.ref, "w1") != "claimed":
            return
        self.seen.append((run.name, conversation.governing.skill if conversation.governing else None))
        plain = CallResult(status="succeeded", shown="fine", worker="w1")
        skills: dict[str, dict[str, Any]] = {
            "pdf": {"governing": governing("pdf", model="better", allowed_tools=("Read",)), "used": USED},
            "lab": {"governing": governing("lab")},
        }
        about = skills[run.request["name"]] if run.name == "skill" else {}
        self._calls.commit(run.ref, plain.model_copy(update=about))


def calls(tool: str, **arguments: Any) -> Completion:
    return Completion(calls=((f"call-{tool}", tool, json.dumps(arguments)),))


@contextmanager
def driven(ledger: RedisLedger, worker: Activating, server: ModelServer) -> Iterator[None]:
    settings = OrchestratorSettings.model_construct(
        llm_api_key=SecretStr(KEY), llm_api_base_url=server.base_url, llm_model_name="own"
    )
    asking = Asking(models_of(settings, known_models(settings)), Shelf(snapshot("pdf", "lab")))
    driver = Driver(ledger, asking, worker, slots=2)
    with running(driver):
        yield


@pytest.fixture
def ledger(redis_urls: RedisUrls) -> RedisLedger:
    return RedisLedger(redis_urls, "activation")


def converse(ledger: RedisLedger, *answers: Completion) -> tuple[Conversation, ModelServer, Activating]:
    worker = Activating(CallLedger(ledger.client))
    with ModelServer(answers) as server, driven(ledger, worker, server):
        ledger.submit(make_spec().model_copy(update={"tenant": DEFAULT_TENANT}))
        assert ledger.ended("c1", PATIENCE_S)
    found = ledger.load("c1")
    assert found is not None
    return found, server, worker


def test_the_provider_is_asked_for_the_model_of_the_skill_while_it_governs(ledger: RedisLedger) -> None:
    ended, server, worker = converse(
        ledger,
        calls("skill", name="pdf"),
        calls("read_file_in_skill", skill_name="pdf", file_path="a.md"),
        calls("run_python_script", skill_name="pdf", script="1"),
        calls("skill", name="lab"),
        calls("run_python_script", skill_name="pdf", script="1"),
        Completion("Done."),
    )
    assert (ended.status, ended.answer) == ("completed", "Done.")
    assert [one.body["model"] for one in server.received] == ["own", "better", "better", "better", "own", "own"]
    assert worker.seen == [
        ("skill", None), ("read_file_in_skill", "pdf"), ("skill", "pdf"), ("run_python_script", "lab"),
    ]  # fmt: skip
    assert [run.status for run in ended.runs].count("tool_error") == 1
    assert ended.used == (USED,)
    assert ended.governing is None


def test_the_provider_is_shown_the_skills_and_why_a_call_was_refused(ledger: RedisLedger) -> None:
    _, server, _ = converse(
        ledger,
        calls("skill", name="pdf"),
        calls("run_python_script", skill_name="pdf", script="1"),
        Completion("Done."),
    )
    systems = {one.body["messages"][0]["content"] for one in server.received}
    assert len(systems) == 1
    assert "<available_skills>\n<skill><name>lab</name>" in systems.pop()
    refusal = json.loads(server.received[-1].body["messages"][-1]["content"])
    assert refusal["error"] == "tool_not_allowed"
    assert refusal["message"].startswith("The skill pdf governs now and does not allow run_python_script")
