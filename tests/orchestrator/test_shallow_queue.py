"""The driver gives calls to the tool queue few at a time, whoever's they are."""

import pytest
from tests.conversation_steps import make_spec
from tests.orchestrator.driver_parts import PATIENCE_S, HeldModel, Place

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOM
from skillfleet.llm.base import LanguageModel
from skillfleet.llm.scripted import ScriptedModel

CALLING = {"replies": [{"calls": [{"tool": "list_skills"}]}, {"text": "42"}]}
NAMES = [f"c{number}" for number in range(LEAST_ROOM + 4)]


@pytest.fixture
def place() -> Place:
    return Place()


def submit(place: Place, *names: str) -> None:
    place.ledger.submit(*(make_spec(name).model_copy(update={"script": CALLING}) for name in names))


def test_few_calls_stand_in_the_tool_queue_and_each_is_sent_once(place: Place) -> None:
    depths = []
    send = place.workers.send

    def counting(conversation: Conversation, run: ToolRun) -> None:
        depths.append(len(place.store.places[""].sent))
        send(conversation, run)

    place.workers.send = counting  # type: ignore[method-assign]
    submit(place, *NAMES)
    with place.driving():
        place.until(lambda: len(place.store.places[""].sent) == LEAST_ROOM, "all places are taken")
        place.until(lambda: sum(map(len, place.store.places[""].waiting.members.values())) == 4, "the others wait")
        with place.working():
            assert [place.ended(name).answer for name in NAMES] == ["42"] * len(NAMES)
    assert max(depths) == LEAST_ROOM
    assert sorted(ref.conversation_id for ref in place.workers.sent) == sorted(NAMES)


def test_calls_that_wait_are_sent_while_every_slot_waits_for_a_model(place: Place) -> None:
    held = HeldModel()

    def models(spec: ConversationSpec) -> LanguageModel | Problem:
        return held if spec.script is None else ScriptedModel.of(spec.script)

    submit(place, *NAMES)
    with place.driving(models, slots=1):
        place.until(lambda: sum(map(len, place.store.places[""].waiting.members.values())) == 4, "calls wait")
        place.ledger.submit(make_spec("thinking"))
        assert held.asked.wait(PATIENCE_S)
        with place.working():
            place.until(lambda: {ref.conversation_id for ref in place.workers.sent} == set(NAMES), "all are sent")
            assert not held.go_on.is_set()
            held.go_on.set()
            assert place.ended("thinking").answer == "42"


def test_more_workers_make_more_room(place: Place) -> None:
    place.workers.places = len(NAMES)
    submit(place, *NAMES)
    with place.driving():
        place.until(lambda: len(place.workers.sent) == len(NAMES), "all are sent at once")
