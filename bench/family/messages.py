"""Messages between two subagents, beside plain redis.

Ours counts from the moment at which a model has said what it sends to the moment at which the other one is asked
with it: two turns that are on disk, a delivery and a claim, in the engine's own driver. Models say nothing else, and
take no time. All sides are threads of the bench's process, on one redis that nothing else uses.
"""

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import redis

from skillfleet.app import make_ledger
from skillfleet.conversations.asking import Asking
from skillfleet.conversations.driver import Driver
from skillfleet.conversations.limits import Limits
from skillfleet.conversations.messages import FunctionCall, Message, ToolCall
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOMS, Rooms
from skillfleet.fleet import Fleet
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.llm.prompts import opening
from skillfleet.submission import new_id
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import MESSAGING, RECEIVE, SEND_MESSAGE
from skillfleet_workers.wire.connection import RedisUrls

from ..fleet import BenchError, bench_settings
from ..measure import Summary, heading, interleaved, row, summary
from .peers import PATIENCE_S, Channel, PubSub, Stream, back_and_forth, one_way

SLOTS = 32
PAIRS = 8
A_TURN = 100
"""Messages that a model sends in one turn."""

OURS = "skillfleet"
PLAIN: dict[str, Callable[[Callable[[], redis.Redis]], Channel]] = {"redis pub/sub": PubSub, "redis streams": Stream}


@dataclass(frozen=True, slots=True)
class Size:
    """`ways`: messages of one round, half of them there and half back."""

    rounds: int
    ways: int


FULL, QUICK = Size(rounds=10, ways=40), Size(rounds=3, ways=20)


def messages(*, quick: bool) -> None:
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, _post(Path(folder)) as post:
        sides: dict[str, Any] = {OURS: post, **{name: _Plain(post.connect, make) for name, make in PLAIN.items()}}
        for side in sides.values():
            side.back_and_forth(2)
        heading("One message at a time, there and back: from its sending until it is handed out (ms)")
        _print({name: partial(_each_ms, side, size.ways) for name, side in sides.items()}, size.rounds, "ms")
        heading(f"{PAIRS} senders with a reader each, {A_TURN} messages from each at once: messages a second")
        _print({name: partial(_rate, side) for name, side in sides.items()}, size.rounds, "/s")


def _each_ms(side: Any, ways: int) -> list[float]:
    return [seconds * 1000 for seconds in side.back_and_forth(ways // 2)]


def _rate(side: Any) -> list[float]:
    return [PAIRS * A_TURN / side.at_once()]


def _print(cases: dict[str, Callable[[], list[float]]], rounds: int, unit: str) -> None:
    found: dict[str, Summary] = {name: summary(taken) for name, taken in interleaved(cases, rounds).items()}
    for name, one in found.items():
        ratio = "" if name == OURS else f"  ours is {found[OURS].median / one.median:.2f} times that"
        print(row(name, one, unit, ratio))


class _Plain:
    def __init__(
        self, connect: Callable[[], redis.Redis], make: Callable[[Callable[[], redis.Redis]], Channel]
    ) -> None:
        self._make = partial(make, connect)
        self._there, self._back = self._make(), self._make()
        self._channels = [self._make() for _ in range(PAIRS)]

    def back_and_forth(self, times: int) -> list[float]:
        return back_and_forth(self._there, self._back, times)

    def at_once(self) -> float:
        began = time.perf_counter()
        threads = [threading.Thread(target=one_way, args=(one, A_TURN), daemon=True) for one in self._channels]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        return time.perf_counter() - began


@dataclass(eq=False)
class _Agent:
    """A LanguageModel that sends in its first turns, and waits for so many messages; who `answers` waits before it
    sends for the first time. It may be asked twice for one turn. `taken`: how long each message was on its way,
    seconds."""

    to: str
    turns: int
    a_turn: int = 1
    awaits: int = 0
    answers: bool = False
    taken: dict[str, float] = field(default_factory=dict)
    done: threading.Event = field(default_factory=threading.Event)

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
        self._read(request.messages)
        turn = sum(message.role == "assistant" for message in request.messages) - self.answers
        calls = [self._send(number) for number in range(self.a_turn if 0 <= turn < self.turns else 0)]
        if len(self.taken) < self.awaits:
            calls.append(_call(RECEIVE.tool, {"timeout": int(PATIENCE_S), "limit": A_TURN}, self.a_turn))
        if not calls:
            self.done.set()
        return ModelReply(
            Message(role="assistant", content=None if calls else "Done.", tool_calls=tuple(calls) or None)
        )

    def _send(self, number: int) -> ToolCall:
        payload = {"at": time.perf_counter(), "number": number}
        return _call(SEND_MESSAGE.tool, {"recipient_id": self.to, "payload": payload}, number)

    def _read(self, messages: tuple[Message, ...]) -> None:
        now, seen = time.perf_counter(), set[str]()
        for message in (one for one in messages if one.role == "tool"):
            told = json.loads(message.content or "")
            if message.name != RECEIVE.tool:
                if told.get("delivered_to") != 1:
                    raise BenchError(f"a message was not delivered: {told}")
                continue
            for one in told:
                if one["message_id"] in seen:
                    raise BenchError(f"a message was handed out twice: {one}")
                seen.add(one["message_id"])
                self.taken.setdefault(one["message_id"], now - one["payload"]["at"])


def _call(tool: str, arguments: dict[str, Any], number: int) -> ToolCall:
    return ToolCall(id=f"call_{number}_{new_id()}", function=FunctionCall(name=tool, arguments=json.dumps(arguments)))


class _Post:
    """Our side: a driver, and conversations of one tree two by two."""

    def __init__(self, folder: Path) -> None:
        settings = bench_settings(folder)
        self._fleet = Fleet(settings)
        self._fleet.__enter__()
        self.connect = partial(RedisUrls.of(settings).client, blocking_seconds=PATIENCE_S)
        self._ledger, self._agents = make_ledger(settings), dict[str, _Agent]()
        self.driver = Driver(self._ledger, Asking(lambda spec: self._agents[spec.id]), _NoTools(), slots=SLOTS)

    def close(self) -> None:
        self._fleet.__exit__(None, None, None)

    def back_and_forth(self, times: int) -> list[float]:
        return self._converse(1, lambda to: _Agent(to, times, awaits=times), times, times)

    def at_once(self) -> float:
        began = time.perf_counter()
        self._converse(PAIRS, lambda to: _Agent(to, 1, A_TURN), 0, A_TURN)
        return time.perf_counter() - began

    def _converse(self, pairs: int, writer: Callable[[str], _Agent], answers: int, awaits: int) -> list[float]:
        """Raises: BenchError."""
        agents: list[_Agent] = []
        for _ in range(pairs):
            root, other = new_id(), new_id()
            self._agents[root] = writer(other)
            self._agents[other] = _Agent(root, answers, awaits=awaits, answers=True)
            agents += [self._agents[root], self._agents[other]]
            self._ledger.submit(_spec(root, ""), _spec(other, root))
        for agent in agents:
            if not agent.done.wait(PATIENCE_S):
                raise BenchError("two subagents did not come to an end")
        return [seconds for agent in agents for seconds in agent.taken.values()]


@contextmanager
def _post(folder: Path) -> Iterator[_Post]:
    post = _Post(folder)
    running = threading.Thread(target=post.driver.run, daemon=True)
    running.start()
    try:
        yield post
    finally:
        post.driver.stop()
        running.join(PATIENCE_S)
        post.close()


def _spec(name: str, root: str) -> ConversationSpec:
    tools = tuple(map(definition, MESSAGING))
    limits = Limits(max_turns=1000)
    return ConversationSpec(id=name, root=root, opening=opening("Go on."), tools=tools, limits=limits, subagents=True)


class _NoTools:
    """The tool queue, which nobody needs."""

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        raise BenchError(f"a worker was to be asked: {run}")

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        return ""

    def queue_empty(self, route: str) -> bool:
        return True

    def rooms(self, call_s: float) -> Rooms:
        return LEAST_ROOMS

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        return ""
