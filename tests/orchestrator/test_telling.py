"""What models say while they say it, as followers have it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from queue import Queue
from typing import Any

import pytest
import redis
from tests.conversation_steps import make_spec
from tests.orchestrator.driver_parts import PATIENCE_S, HeldModel, Place

from skillfleet.conversations.ledger import Claim, LiveWords
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.messages import Message
from skillfleet.conversations.telling import Telling
from skillfleet.events import Entry
from skillfleet.llm.base import Again, Calling, Hear, ModelReply, ModelRequest, Piece, Said, deaf


class TellingModel:
    """Tells the pieces that it is given, and answers with what is neither a piece nor a step."""

    def __init__(self) -> None:
        self.given: Queue[Piece | Callable[[], object] | str] = Queue()

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        while not isinstance(given := self.given.get(timeout=PATIENCE_S), str):
            if callable(given):
                given()
            else:
                hear(given)
        return ModelReply(Message(role="assistant", content=given))

    def says(self, *given: Piece | Callable[[], object] | str) -> None:
        for one in given:
            self.given.put(one)


@pytest.fixture
def place() -> Place:
    return Place()


def told(place: Place, name: str = "c1") -> list[Entry]:
    return place.ledger.entries(name, "0", 0, "0")


def text(entries: list[Entry]) -> str:
    said = ""
    for entry in entries:
        if entry.type in ("turn", "again"):
            said = ""
        if entry.type == "token":
            assert entry.data["at"] == len(said)
            said += entry.data["text"]
    return said


def has_said(place: Place, words: str) -> bool:
    return text(told(place)).endswith(words)


def test_what_a_model_says_is_followed_while_it_says_it(place: Place) -> None:
    model = TellingModel()
    with place.driving(model):
        place.ledger.submit(make_spec())
        for words in ("It ", "is ", "42"):
            model.says(Said(words))
            place.until(partial(has_said, place, words), f"{words!r} is told")
        model.says("It is 42")
        assert place.ended().answer == "It is 42"


def test_all_that_was_said_is_told_before_the_message_that_it_leads_to(place: Place) -> None:
    model = TellingModel()
    words = [f"word{n} " for n in range(300)]
    model.says(*map(Said, words), Calling(0, "add", "{}"), "".join(words))
    with place.driving(model):
        place.ledger.submit(make_spec())
        place.ended()
    entries = told(place)
    types = [entry.type for entry in entries]
    assert text(entries) == "".join(words)
    assert types[-3:] == ["arguments", "message", "ended"]
    assert types.index("token") > types.index("turn")
    assert types.count("token") < len(words) / 2


def test_what_was_said_before_a_stream_broke_is_taken_back(place: Place) -> None:
    model = TellingModel()
    with place.driving(model):
        place.ledger.submit(make_spec())
        model.says(Said("It is 4"))
        place.until(lambda: text(told(place)), "the first words are told")
        model.says(Again(), Said("It is 42"), "It is 42")
        place.ended()
    entries = told(place)
    assert text(entries) == "It is 42"
    assert [entry.data["attempt"] for entry in entries if entry.type == "token"] == [1, 2]


def test_who_has_lost_the_conversation_is_heard_no_more(place: Place) -> None:
    ledgers = TroubledLedger(place), TroubledLedger(place)
    for ledger in ledgers:
        ledger.open.set()
    (fence,) = claims(place, "c1").values()
    with telling(ledgers[0]) as first, telling(ledgers[1]) as second, first.reply("c1", fence, 1) as hear:
        hear(Said("It is 4"))
        place.until(lambda: text(told(place)), "the first is heard")
        place.pass_time(100)
        claim = place.ledger.claim("c1")
        assert isinstance(claim, Claim)
        with second.reply("c1", claim.fence, 1) as other:
            hear(Said("3, said too late"))
            place.until(lambda: len(ledgers[0].round_trips) == 2, "the first has tried")
            hear(Said("and again"))
            other(Said("It is 42"))
    assert [entry.data["text"] for entry in told(place) if entry.live] == ["It is 4", "It is 42"]
    assert len(ledgers[0].round_trips) == 2


def test_an_orchestrator_that_was_cut_off_in_mid_stream_is_taken_back_by_the_next(place: Place) -> None:
    cut_off, model = HeldModel(), TellingModel()
    with place.driving(model) as driver:
        place.ledger.submit(make_spec())
        model.says(Said("It is 4"))
        place.until(lambda: text(told(place)), "the first words are told")
        driver.hand_back()
        driver.stop()
        with place.driving(cut_off):
            assert cut_off.asked.wait(PATIENCE_S)
            assert text(told(place)) == ""
            model.says(Said("3"), "It is 43")
            cut_off.go_on.set()
            assert place.ended().answer == "42"
    assert [entry.type for entry in told(place)].count("turn") == 2


def test_models_that_tell_nothing_start_no_thread(place: Place) -> None:
    model = TellingModel()
    with place.driving(model):
        place.ledger.submit(make_spec())
        model.says("42")
        place.ended()
        assert "telling" not in [thread.name for thread in threading.enumerate()]


class TroubledLedger(MemoryLedger):
    """Waits for `open`, then raises its trouble."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.store)
        self.open, self.entered = threading.Event(), threading.Event()
        self.trouble: Exception | None = None
        self.round_trips: list[int] = []

    def tell_live(self, *words: LiveWords) -> list[bool]:
        self.entered.set()
        assert self.open.wait(PATIENCE_S)
        if self.trouble:
            raise self.trouble
        self.round_trips.append(len(words))
        return super().tell_live(*words)


@contextmanager
def telling(ledger: TroubledLedger) -> Iterator[Telling]:
    one = Telling(ledger)
    try:
        yield one
    finally:
        ledger.open.set()
        one.stop()


def claims(place: Place, *names: str) -> dict[str, int]:
    found = {}
    for name in names:
        place.ledger.submit(make_spec(name))
        claim = place.ledger.claim(name)
        assert isinstance(claim, Claim)
        found[name] = claim.fence
    return found


def test_who_hears_does_not_wait_for_a_redis_that_hangs(place: Place) -> None:
    ledger = TroubledLedger(place)
    (fence,) = claims(place, "c1").values()
    with telling(ledger) as one, one.reply("c1", fence, 1) as hear:
        for _ in range(5000):
            hear(Said("0123456789"))
        assert ledger.entered.wait(PATIENCE_S)
        hear(Said("end"))
        assert text(told(place)) == ""
        ledger.open.set()
    tokens = [entry.data for entry in told(place) if entry.type == "token"]
    assert tokens[-1]["text"].endswith("end")
    assert tokens[-1]["at"] + len(tokens[-1]["text"]) == 50_003
    assert sum(entry["skipped"] + len(entry["text"]) for entry in tokens) == 50_003
    assert sum(len(entry["text"]) for entry in tokens) < 40_000


def test_what_redis_did_not_take_is_told_as_skipped_and_holds_nobody_up(place: Place) -> None:
    ledger = TroubledLedger(place)
    (fence,) = claims(place, "c1").values()
    ledger.trouble = redis.ConnectionError("redis is gone")
    with telling(ledger) as one, one.reply("c1", fence, 1) as hear:
        hear(Said("lost"))
        ledger.open.set()
        with one.reply("c1", fence, 1) as other:
            other(Said("lost too"))
        ledger.trouble = None
        hear(Said("words"))
    (entry,) = [entry.data for entry in told(place) if entry.live]
    assert entry == {"turn": 1, "attempt": 1, "at": 4, "text": "words", "skipped": 4}


def test_what_follows_the_first_words_is_gathered(place: Place) -> None:
    ledger = TroubledLedger(place)
    ledger.open.set()
    fence, others = claims(place, "c1", "c2").values()
    one = Telling(ledger, lambda: 0.0)
    with one.reply("c1", fence, 1) as hear:
        hear(Said("It "))
        place.until(lambda: text(told(place)), "the first words are told")
        for word in ("is ", "forty", "-two"):
            hear(Said(word))
            with one.reply("c2", others, 1) as of_others:
                of_others(Said("told meanwhile"))
    one.stop()
    assert [entry.data["text"] for entry in told(place) if entry.live] == ["It ", "is forty-two"]


def test_many_conversations_are_told_of_in_few_round_trips(place: Place) -> None:
    ledger = TroubledLedger(place)
    fences = claims(place, *(f"c{n}" for n in range(20)))
    with telling(ledger) as one, ExitStack() as replies:
        hears = [replies.enter_context(one.reply(name, fence, 1)) for name, fence in fences.items()]
        hears[0](Said("0"))
        assert ledger.entered.wait(PATIENCE_S)
        for number, hear in enumerate(hears[1:], start=1):
            hear(Said(str(number)))
        ledger.open.set()
        place.until(lambda: sum(ledger.round_trips) >= 20, "all are told")
    assert ledger.round_trips == [1, 19]
    assert [text(told(place, name)) for name in fences] == [str(n) for n in range(20)]


def test_a_ledger_that_fails_otherwise_ends_the_telling_and_not_the_replies(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    ledger = TroubledLedger(place)
    ledger.open.set()
    ledger.trouble = ValueError("not of redis")
    with telling(ledger) as one:
        with one.reply("c1", 1, 1) as hear:
            hear(Said("words"))
        with one.reply("c1", 1, 2) as hear:
            hear(Said("more"))
    assert [str(one.exc_value) for one in shown] == ["not of redis"]
