"""The cost of a turn against the length of its conversation's history.

The engine's own driver, step by step in this process, on a redis of its own: nothing else speaks to it, so that its
counters are those of the turns. A call is claimed and committed as a worker does it, and does nothing; what Celery
adds to a turn knows nothing of the history.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillfleet.app import make_ledger
from skillfleet.conversations.asking import Asking
from skillfleet.conversations.driver import Driver
from skillfleet.conversations.limits import Limits, Problem
from skillfleet.conversations.messages import FunctionCall, Message, ToolCall
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOMS, Rooms
from skillfleet.fleet import Fleet
from skillfleet.llm.base import Hear, ModelReply, ModelRequest, deaf
from skillfleet.llm.prompts import opening
from skillfleet.submission import new_id
from skillfleet.tools.definitions import all_definitions
from skillfleet_workers.wire.calls import CallLedger, CallResult
from skillfleet_workers.wire.contract import GET_SKILL

from ..fleet import BenchError, bench_settings
from ..measure import at_most, heading
from .meter import Meter, Traffic

LENGTHS = (10, 100, 1000)
MESSAGES_A_TURN = 2
AROUND = 10
"""Turns that a figure is the median of."""

SHOWN = "a line of what the tool says\n" * 8
FLAT = 1.1
"""What the longest may write, as a multiple of the shortest."""


class _AlwaysCalls:
    """A LanguageModel that asks for one call more, at once."""

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
        said = len(request.messages)
        # Another skill each time: whoever makes the same call again and again is stopped.
        function = FunctionCall(name=GET_SKILL.tool, arguments=json.dumps({"skill_name": f"skill-{said}"}))
        call = ToolCall(id=f"call_{said}", function=function)
        return ModelReply(Message(role="assistant", tool_calls=(call,)))


class _AtOnce:
    """The tool queue and its worker in one: a call has its result when it was sent."""

    def __init__(self, calls: CallLedger) -> None:
        self._calls = calls

    def send(self, conversation: Conversation, run: ToolRun) -> None:
        result = CallResult(status="succeeded", shown=SHOWN, worker="bench", tail=SHOWN[:80])
        if self._calls.claim(run.ref, "bench") != "claimed" or self._calls.commit(run.ref, result) != "recorded":
            raise BenchError(f"the ledger refused the call {run.ref}")

    def route(self, conversation: Conversation, run: ToolRun) -> str:
        return ""

    def queue_empty(self, route: str) -> bool:
        return True

    def rooms(self, call_s: float) -> Rooms:
        return LEAST_ROOMS

    def why_not(self, conversation: Conversation, run: ToolRun) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Turn:
    """`messages`: in the history when it began. Milliseconds."""

    messages: int
    claim_ms: float
    all_ms: float
    claim: Traffic
    all: Traffic


def history(lengths: Iterable[int] = LENGTHS) -> None:
    heading("The cost of a turn against its conversation's history (redis' own counters; claim, 2 commits, 1 call)")
    longest = max(lengths)
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder:
        turns = _turns(Path(folder), longest // MESSAGES_A_TURN + AROUND)
    found = {length: _around(turns, length) for length in lengths}
    for length, row in found.items():
        print(f"  {f'{length} messages':<16}{row}")
    shortest = found[min(lengths)]
    most = found[longest].written / shortest.written
    print(at_most("bytes written, longest history to shortest, times", most, FLAT))
    print(at_most("growth of the append-only file, likewise", found[longest].appended / shortest.appended, FLAT))


@dataclass(frozen=True, slots=True)
class Row:
    written: float
    appended: float
    reply: float
    claim_ms: float
    all_ms: float

    def __str__(self) -> str:
        return (
            f"{self.written:>8.0f} bytes written, {self.appended:>8.0f} appended; the turn {self.all_ms:.2f} ms; "
            f"its claim {self.claim_ms:.2f} ms, with a reply of {self.reply:.0f} bytes"
        )


def _around(turns: list[Turn], length: int) -> Row:
    near = sorted(turns, key=lambda turn: abs(turn.messages - length))[:AROUND]
    return Row(
        written=statistics.median(turn.all.written for turn in near),
        appended=statistics.median(turn.all.appended for turn in near),
        reply=statistics.median(turn.claim.sent for turn in near),
        claim_ms=statistics.median(turn.claim_ms for turn in near),
        all_ms=statistics.median(turn.all_ms for turn in near),
    )


def _turns(folder: Path, count: int) -> list[Turn]:
    """Of one conversation, from its first on."""
    settings = bench_settings(folder)
    with Fleet(settings):
        ledger = make_ledger(settings)
        driver = Driver(ledger, Asking(_chosen), _AtOnce(CallLedger(ledger.client)), slots=1)
        limits = Limits(max_turns=count + 1, timeout_s=86400)
        spec = ConversationSpec(id=new_id(), opening=opening("Go on."), tools=all_definitions(), limits=limits)
        ledger.submit(spec)
        meter = Meter(ledger.client)
        return [_turn(driver, meter) for _ in range(count)]


def _chosen(spec: ConversationSpec) -> _AlwaysCalls | Problem:
    return _AlwaysCalls()


def _turn(driver: Driver, meter: Meter) -> Turn:
    meter.lap()
    began = time.perf_counter()
    claim = driver.take(1.0)
    claimed = time.perf_counter()
    if claim is None:
        raise BenchError("the conversation was not due")
    of_claim = meter.lap()
    went_on = time.perf_counter()
    driver.serve(claim)
    done = time.perf_counter()
    rest = meter.lap()
    both = Traffic(of_claim.written + rest.written, of_claim.sent + rest.sent, of_claim.appended + rest.appended)
    return Turn(
        messages=len(claim.conversation.messages),
        claim_ms=(claimed - began) * 1000,
        all_ms=(claimed - began + done - went_on) * 1000,
        claim=of_claim,
        all=both,
    )
