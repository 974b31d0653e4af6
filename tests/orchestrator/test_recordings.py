"""What is kept of a conversation that is recorded, and the file that it is written to."""

import json
import stat
from pathlib import Path

import pytest
from tests.conversation_steps import NOW, after, asks, call, finished, make_spec, says
from tests.orchestrator.driver_parts import Place

from skillfleet.cli.recordings import check_recording, write_recording
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import Submitted
from skillfleet.errors import BadRequestError
from skillfleet.events import Entry
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.recorder import recorded
from skillfleet.subagents.models import ChildRun

SCHEMA = {"type": "object", "required": ["n"]}


class Noting:
    """Answers 42 as JSON, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
        self.requests.append(request)
        return ModelReply(says('{"n": 42}').message)


def test_a_recorded_conversation_tells_in_its_events_what_its_model_was_asked() -> None:
    place, model = Place(), Noting()
    place.ledger.submit(make_spec().model_copy(update={"record": True, "answer_schema": SCHEMA}))
    with place.driving(model):
        told = place.followed()
    (request,) = model.requests
    assert request.schema == SCHEMA
    assert json.dumps(SCHEMA) in (request.messages[0].content or ""), "a provider may not tell it"

    kept = recorded("c1", lambda name: place.ended(name), lambda name: told)
    (turn,) = kept.turns
    assert (turn.turn, turn.messages, turn.system) == (1, 2, request.messages[0].content)
    assert set(turn.tools) == {tool.function.name for tool in request.tools}
    assert kept.reply(0) == says('{"n": 42}').message
    assert (kept.prompt, kept.system, kept.answer_schema) == ("What is 6 * 7?", None, SCHEMA)


def test_what_is_not_recorded_tells_nothing_of_it() -> None:
    place = Place()
    place.ledger.submit(make_spec())
    with place.driving(Noting()):
        assert "recorded" not in [entry.type for entry in place.followed()]
    with pytest.raises(BadRequestError, match="was not recorded"):
        recorded("c1", lambda name: place.ended(name), lambda name: [])


def test_children_are_recorded_by_the_calls_that_began_them() -> None:
    spec = make_spec(created_at=NOW).model_copy(update={"record": True})
    begun = after(Conversation.begun(spec), Submitted(), asks(call("skill", name="lab")), finished("1.0"), says("42"))
    ended, cancelled = ChildRun(key="1.0", id="c1-1-0", status="completed"), ChildRun(key="1.1", id="c1-1-1")
    unbegun = ChildRun(key="1.2", id="c1-1-2", status="cancelled", unwanted=True)
    parent = begun.model_copy(update={"children": (ended, cancelled.left(), unbegun)})
    child = begun.model_copy(update={"spec": spec.model_copy(update={"id": "c1-1-0"}), "runs": ()})
    told = [Entry(1, NOW, "recorded", {"turn": 1, "messages": 2, "system": "Be brief."})]
    kept = recorded("c1", {"c1": parent, "c1-1-0": child}.__getitem__, lambda name: told)
    assert {key: one.id for key, one in kept.children.items()} == {"1.0": "c1-1-0"}


def test_a_file_is_written_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text("before")
    write_recording({"id": "c1"}, path)
    assert json.loads(path.read_text()) == {"id": "c1"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(TypeError):
        write_recording({"id": {1, 2}}, path)
    assert json.loads(path.read_text()) == {"id": "c1"}
    assert [one.name for one in tmp_path.iterdir()] == ["kept.json"]


def test_a_file_that_could_not_be_written_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "kept.json"):
        with pytest.raises(BadRequestError, match="can't be written"):
            check_recording(path, detach=False, batch=False)
    with pytest.raises(BadRequestError, match="--record"):
        check_recording(tmp_path / "kept.json", detach=False, batch=True)
