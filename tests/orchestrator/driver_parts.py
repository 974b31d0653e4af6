"""A driver over a ledger in memory, with models and workers that a test holds in its hands."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, Queue

from skillfleet.conversations.asking import Asking, Catalogs
from skillfleet.conversations.driver import Driver
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.memory_calls import MemoryCallLedger
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.memory_store import MemoryStore
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOM, Rooms
from skillfleet.events import Entry
from skillfleet.llm.base import Hear, LanguageModel, ModelReply, ModelRequest, deaf
from skillfleet.llm.scripted import ScriptedModel
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import CallRef

PATIENCE_S = 60.0


class HeldModel:
    """Answers `text` once it is let go; says when it has been asked."""

    def __init__(self, text: str = "42") -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()
        self._text = text

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        self.asked.set()
        assert self.go_on.wait(2 * PATIENCE_S)
        return ModelReply(Message(role="assistant", content=self._text))


@dataclass
class Workers:
    """The queue of calls and, as long as it is `serving`, one worker thread on it. A `poisoned` worker takes a
    call and falls silent. `answers`: what calls bring, by their ids; the others name themselves."""

    ledger: MemoryCallLedger
    queue: Queue[CallRef] = field(default_factory=Queue)
    sent: list[CallRef] = field(default_factory=list)
    losing: int = 0
    poisoned: int = 0
    places: int = LEAST_ROOM
    answers: dict[str, CallResult] = field(default_factory=dict)

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        self.sent.append(run.ref)
        if len(self.sent) > self.losing:
            self.queue.put(run.ref)

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        return ""

    def queue_empty(self, route: str) -> bool:
        return self.queue.empty()

    def rooms(self, call_s: float) -> Rooms:
        return Rooms(self.places)

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        return ""

    def serve(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                ref = self.queue.get(timeout=0.05)
            except Empty:
                continue
            if self.ledger.claim(ref, "w1") != "claimed":
                continue
            if self.poisoned:
                self.poisoned -= 1
                continue
            named = CallResult(status="succeeded", shown=f"result of {ref.key}", worker="w1")
            self.ledger.commit(ref, self.answers.get(ref.call_id, named))


@contextmanager
def running(driver: Driver, wake: Callable[[], None] = lambda: None) -> Iterator[None]:
    """In a thread of its own. `wake` ends its sleep."""
    thread = threading.Thread(target=driver.run)
    thread.start()
    try:
        yield
    finally:
        driver.stop()
        wake()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


class Place:
    """One store, and a clock that a test pushes on."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self.store = MemoryStore(lambda: time.time() + self._ahead)
        self.ledger = MemoryLedger(self.store)
        self.workers = Workers(MemoryCallLedger(self.store))

    def pass_time(self, seconds: float) -> None:
        self._ahead += seconds
        self.wake()

    def wake(self) -> None:
        """Ring the doorbell, so that nobody sleeps on."""
        with self.store.changed:
            self.store.bells += 1
            self.store.changed.notify_all()

    @contextmanager
    def working(self) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=self.workers.serve, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    @contextmanager
    def driving(
        self,
        model: LanguageModel | Problem | Callable[[ConversationSpec], LanguageModel | Problem] | None = None,
        *,
        ledger: MemoryLedger | None = None,
        slots: int = 4,
        only: set[str] | None = None,
        catalogs: Catalogs | None = None,
    ) -> Iterator[Driver]:
        """Every conversation is answered by `model`; by its own script where there is none."""

        def models(spec: ConversationSpec) -> LanguageModel | Problem:
            if model is None:
                assert spec.script is not None
                return ScriptedModel.of(spec.script)
            return model(spec) if callable(model) else model

        driver = Driver(ledger or self.ledger, Asking(models, catalogs), self.workers, slots=slots, only=only)
        with running(driver, self.wake):
            yield driver

    def until(self, found: Callable[[], object], what: str) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while not found():
            assert time.monotonic() < give_up, f"never: {what}"
            time.sleep(0.002)

    def followed(self, name: str = "c1", until: str = "ended") -> list[Entry]:
        """The stream up to the first entry of that type."""
        seen: list[Entry] = []
        give_up = time.monotonic() + PATIENCE_S
        while not seen or seen[-1].type != until:
            assert time.monotonic() < give_up, f"{name} went no further than {[entry.type for entry in seen]}"
            for entry in self.ledger.entries(name, seen[-1].cursor if seen else "0", 0.2):
                seen.append(entry)
                if entry.type == until:
                    break
        return seen

    def ended(self, name: str = "c1") -> Conversation:
        self.followed(name)
        conversation = self.ledger.load(name)
        assert conversation is not None
        return conversation
