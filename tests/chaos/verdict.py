"""What the event streams of a run under fire come to (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from skillfleet.events import Entry

from .side import CALLS, Kill, Outcome

STARTS_OF_A_CALL = 3

Stream = Sequence[Entry]


def judge(streams: Mapping[str, Stream], kills: Sequence[Kill], answer: str) -> Outcome:
    found = Outcome(len(streams))
    for name, stream in streams.items():
        found.violations += [f"{name}: {wrong}" for wrong in _violations(stream)]
        _count(found, name, stream, answer)
        found.silences += _silences(stream)
        found.model_turns_again += sum(_turns(stream).values()) - len(_turns(stream))
    for kill in kills:
        held = (streams[name] for name in kill.held if name in streams)
        found.recoveries.setdefault(kill.kind, []).extend(_recoveries(kill, held))
    return found


def _count(found: Outcome, name: str, stream: Stream, answer: str) -> None:
    ends = [entry for entry in stream if entry.type == "ended"]
    results = [entry for entry in stream if entry.type == "result"]
    found.results += len(results)
    if not ends:
        found.lost += 1
        found.violations.append(f"{name}: no end; its last event is {stream[-1].type if stream else 'none'}")
    elif any(entry.data["status"] == "lost" for entry in results):
        # Three workers died under one call: what the model is told then is no right answer, as designed.
        found.given_up += 1
    elif (ends[0].data["status"], ends[0].data["answer"]) != ("completed", answer):
        found.wrong += 1
        found.violations.append(f"{name}: ended with {ends[0].data}")
    else:
        found.answered += 1
    found.twice += len(ends) > 1


def _violations(stream: Stream) -> Iterable[str]:
    if [entry.seq for entry in stream] != list(range(1, len(stream) + 1)):
        yield "the stream has a gap"
    if any(entry.type == "ended" for entry in stream[:-1]):
        yield "something came after the end"
    starts = Counter(entry.data["key"] for entry in stream if entry.type == "started")
    results = Counter(entry.data["key"] for entry in stream if entry.type == "result")
    if twice := [key for key, times in results.items() if times > 1]:
        yield f"more than one result of {twice}"
    if often := [key for key, times in starts.items() if times > STARTS_OF_A_CALL]:
        yield f"more than {STARTS_OF_A_CALL} starts of {often}"
    for entry in stream:
        if entry.type == "result" and entry.data["status"] == "lost" and starts[entry.data["key"]] < STARTS_OF_A_CALL:
            yield f"{entry.data['key']} was given up after {starts[entry.data['key']]} starts"
    answered = Counter(entry.data.get("tool_call_id") for entry in stream if _is_answer(entry))
    completed = stream and stream[-1].type == "ended" and stream[-1].data["status"] == "completed"
    if completed and (answered.total(), len(answered)) != (CALLS, CALLS):
        yield f"{answered.total()} tool messages of {len(answered)} calls"


def _is_answer(entry: Entry) -> bool:
    return entry.type == "message" and entry.data["role"] == "tool"


def _turns(stream: Stream) -> Counter[int]:
    return Counter(entry.data["turn"] for entry in stream if entry.type == "turn")


def _recoveries(kill: Kill, held: Iterable[Stream]) -> Iterable[float]:
    """From the kill to the next event of each conversation that the victim held, but for results that were on their
    way. Which of two orchestrators held one is not written anywhere; but whose orchestrator died asks its model the
    same again."""
    for stream in held:
        before = [entry for entry in stream if entry.at <= kill.at]
        after = stream[len(before) :]
        if not before or not after or before[-1].type == "call":  # waits in the queue again already
            continue
        again = before[-1].type == after[0].type == "turn"
        lost = after[0].type != "result" or after[0].data["status"] == "lost"
        if again or (kill.kind == "worker" and lost) or kill.kind == "redis":
            yield after[0].at - kill.at


def _silences(stream: Stream) -> Iterable[float]:
    """Between two events; but for the wait in a queue, for an orchestrator first and for a worker then."""
    for before, after in pairwise(stream):
        if before.type in ("turn", "started", "result"):
            yield after.at - before.at
