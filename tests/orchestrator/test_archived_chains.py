"""The run of a skill without a model, as the history has it: under the id that whoever asked for it was given."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conversation_steps import NOW, make_spec
from tests.orchestrator.histories import counted, written
from tests.orchestrator.made_history import opened
from tests.orchestrator.test_history_reading import came, says, sent, started, stream

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import Conversation
from skillfleet.events import Entry
from skillfleet.history.records import execution_id
from skillfleet.history.unarchived import News
from skillfleet.history.writing import archive
from skillfleet.subagents.models import AgentSpec, ChainStep

STEPS = (ChainStep(skill="navigate", script="go.py"),)
RESULTS = {"navigate": {"x": 1}}
ENDED_AT = NOW + 60
DONE = {"status": "completed", "answer": json.dumps({"results": RESULTS}), "finished_at": ENDED_AT}
FAILED = {"status": "failed", "error": Problem(code="step_failed", message="No."), "finished_at": ENDED_AT}


def _chain(skill: str, *steps: ChainStep, **state: Any) -> Conversation:
    agent = AgentSpec(skill=skill, version="2.0.0", params={"location": "kitchen"}, steps=steps)
    spec = make_spec("c1").model_copy(update={"created_at": NOW, "agent": agent, "tenant": "acme"})
    return Conversation.begun(spec).model_copy(update=state)


def _stream(status: str, step: str = "succeeded") -> list[Entry]:
    return stream(
        ("turn", {"turn": 1}), says(content="Step 1"), sent(), started(), came(step), ("ended", {"status": status})
    )


@pytest.mark.parametrize(
    ("state", "step", "came_to"),
    [(DONE, "succeeded", ("success", RESULTS, None)), (FAILED, "failed", ("failed", None, "No."))],
)
def test_a_skill_that_only_puts_others_together_is_an_execution_once_it_has_ended(
    tmp_path: Path, state: dict[str, Any], step: str, came_to: tuple[Any, ...]
) -> None:
    chain, entries = _chain("fetch-object", *STEPS, **state), _stream(state["status"], step)
    with opened(f"sqlite:///{tmp_path}/h.db", tmp_path) as history:
        archive(history, "c1", lambda *_: News(chain, tuple(entries[:-1]), False))
        assert [one.skill_name for one in written(history).values()] == ["navigate"]

        archive(history, "c1", lambda *_: News(chain, tuple(entries[-1:]), True))
        own = written(history)[execution_id("c1", "")]
        assert (own.skill_name, own.skill_version) == ("fetch-object", "2.0.0")
        assert (own.status, own.result, own.error) == came_to
        assert own.parameters == {"location": "kitchen"}
        assert (own.tenant, counted(history), len(written(history))) == ("acme", 2, 2)


def test_a_skill_whose_script_ran_is_that_execution_and_no_other(tmp_path: Path) -> None:
    chain = _chain("navigate", *STEPS, **DONE)
    with opened(f"sqlite:///{tmp_path}/h.db", tmp_path) as history:
        archive(history, "c1", lambda *_: News(chain, tuple(_stream("completed")), True))
        assert list(written(history)) == [execution_id("c1", "1.0")]
        assert counted(history) == 1
