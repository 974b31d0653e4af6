"""What becomes of model calls in flight when their orchestrator is asked to end."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.model_answers import Answer, Completion
from tests.model_server import KEY, ModelServer
from tests.system.fleet import wait_for
from tests.system.standing_fleet import StandingFleet, code_of, standing_fleet

FOR_EVER = "600"


class Thinking:
    """A provider that thinks until it is told to answer: a call first, then the end."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.asked = 0

    def __call__(self, request: dict[str, Any]) -> Answer:
        self.asked += 1
        self.done.wait(60)
        if request["messages"][-1]["role"] == "tool":
            return Completion("Listed.")
        return Completion(calls=(("call-1", "list_skills", "{}"),))


@pytest.fixture
def thinking() -> Iterator[Thinking]:
    model = Thinking()
    yield model
    model.done.set()


@pytest.fixture
def model(thinking: Thinking) -> Iterator[dict[str, str]]:
    with ModelServer(thinking) as server:
        yield {"LLM_API_KEY": KEY, "LLM_API_BASE_URL": server.base_url, "LLM_MODEL_NAME": "any"}


@pytest.fixture
def standing(state_dir: Path) -> Iterator[StandingFleet]:
    with standing_fleet(state_dir) as fleet:
        fleet.worker()
        yield fleet


def test_a_reply_that_comes_within_the_grace_time_is_kept_and_paid_once(
    standing: StandingFleet, thinking: Thinking, model: dict[str, str]
) -> None:
    first = standing.orchestrator(FOR_EVER, **model)
    with standing.place.fleet() as fleet:
        name = fleet.submit("List them.")
        wait_for(lambda: thinking.asked == 1, "the model is asked")
        first.send_signal(signal.SIGTERM)
        standing.orchestrator(**model)
        assert (first.poll(), thinking.asked) == (None, 1)
        thinking.done.set()
        assert fleet.result(name).answer == "Listed."
        assert code_of(first) == 0
        assert [run.sends for run in fleet.transcript(name).runs] == [1]
    assert thinking.asked == 2


@pytest.mark.parametrize(("grace", "signals"), [("1", 1), (FOR_EVER, 2)])
def test_what_does_not_come_in_time_is_handed_back_at_once(
    standing: StandingFleet, thinking: Thinking, model: dict[str, str], grace: str, signals: int
) -> None:
    first = standing.orchestrator(grace, **model)
    with standing.place.fleet() as fleet:
        name = fleet.submit("List them.")
        wait_for(lambda: thinking.asked == 1, "the model is asked")
        first.send_signal(signal.SIGTERM)
        if signals == 2:
            standing.orchestrator(**model)  # it boots longer than a signal takes
            assert (first.poll(), thinking.asked) == (None, 1)
            first.send_signal(signal.SIGTERM)
        assert code_of(first) == 0
        if signals == 1:
            standing.orchestrator(**model)
        wait_for(lambda: thinking.asked == 2, "another one asks")
        thinking.done.set()
        assert fleet.result(name).answer == "Listed."
