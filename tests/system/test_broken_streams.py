"""A provider's stream that breaks, or its listener that dies, as who follows has it: real adapters, SDKs and HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.model_answers import Break, Completion, Gate
from tests.system.conftest import Shared
from tests.system.fleet import wait_for
from tests.system.servers import Provider, provider
from tests.system.standing_fleet import StandingFleet, standing_fleet

from skillfleet.cli.saying import Saying
from skillfleet.events import Entry

TEXT = "It is forty-two, as it has always been."


class Follower:
    """What it has been told, and the text that stood before its eyes after each entry."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.texts: list[str] = []
        self._saying = Saying()

    def see(self, entry: Entry | None) -> None:
        if entry:
            self._saying.see(entry)
            self.entries.append(entry)
            self.texts.append(self._saying.text)

    def count(self, kind: str) -> int:
        return sum(entry.type == kind for entry in self.entries)

    def answers(self) -> list[object]:
        told = [entry.data for entry in self.entries if entry.type == "message"]
        return [message["content"] for message in told if message["role"] == "assistant"]


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_stream_that_breaks_is_told_again_and_no_text_is_doubled(shared: Shared, name: str) -> None:
    model = shared.provider.answers(
        Completion(TEXT, pace_s=0.05, breaks=Break("reset", 3)), Completion(TEXT, pace_s=0.05)
    )
    follower = Follower()
    with shared.place.fleet() as fleet:
        for entry in fleet.follow(fleet.submit("What is it?", model=f"{name}:{model}", detach=True)):
            follower.see(entry)
    assert follower.count("again") == follower.count("turn") == 1
    assert TEXT in follower.texts
    assert all(TEXT.startswith(text) for text in follower.texts)
    assert follower.answers() == [TEXT]
    assert [one.status for one in shared.provider.received(model)] == [200, 200]


@pytest.fixture
def standing(state_dir: Path) -> Iterator[StandingFleet]:
    with standing_fleet(state_dir) as fleet:
        yield fleet


@pytest.fixture
def models() -> Iterator[Provider]:
    with provider() as models:
        yield models


def test_the_turn_of_an_orchestrator_that_is_killed_in_mid_stream_is_told_anew_by_another(
    standing: StandingFleet, models: Provider
) -> None:
    held, again = Gate(3), Gate(3)
    model = models.answers(Completion(TEXT, gate=held), Completion(TEXT, gate=again))
    variables = models.variables | {"SKILLFLEET_RECOVERY_SECONDS": "8"}
    first, follower = standing.orchestrator(**variables), Follower()
    with standing.place.fleet() as fleet:
        entries = fleet.follow(fleet.submit("What is it?", model=model, detach=True))
        told = until_text(follower, entries)
        first.kill()
        standing.orchestrator(**variables)
        wait_for(lambda: len(models.received(model)) == 2, "another one asks")
        anew = until_text(follower, entries)
        again.open()
        for entry in entries:
            follower.see(entry)
    assert TEXT.startswith(told) and TEXT.startswith(anew)
    assert all(TEXT.startswith(text) for text in follower.texts)
    assert follower.texts.count(told) and follower.count("turn") == 2
    assert follower.answers() == [TEXT]


def until_text(follower: Follower, entries: Iterator[Entry | None]) -> str:
    """The text of the turn that begins next, at its first words."""
    for entry in entries:
        follower.see(entry)
        if entry and entry.type == "token":
            return follower.texts[-1]
    pytest.fail("it ended without a word")
