"""The judge of a run under fire finds what is wrong with a stream."""

from typing import Any

import pytest
from tests.chaos.side import ANSWER, Kill
from tests.chaos.verdict import judge

from skillfleet.events import Entry, EntryType

pytestmark = pytest.mark.quick

Told = tuple[EntryType, dict[str, Any]]


def stream(*told: Told, every_s: float = 1.0) -> list[Entry]:
    return [Entry(number, number * every_s, kind, data) for number, (kind, data) in enumerate(told, start=1)]


def turn(number: int) -> list[Told]:
    key = f"{number}.0"
    return [
        ("turn", {"turn": number}),
        ("call", {"key": key}),
        ("started", {"key": key}),
        ("result", {"key": key, "status": "succeeded"}),
        ("message", {"role": "tool", "tool_call_id": f"call_{number}"}),
    ]


END: Told = ("ended", {"status": "completed", "answer": ANSWER})
WHOLE: list[Told] = [*turn(1), *turn(2), *turn(3), END]


def test_a_whole_conversation_is_right() -> None:
    found = judge({"c": stream(*WHOLE)}, [], ANSWER)
    assert not found.violations
    assert (found.answered, found.results, found.model_turns_again) == (1, 3, 0)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (WHOLE[:-1], "no end"),
        ([*WHOLE, END], "after the end"),
        ([*WHOLE[:-1], ("ended", {"status": "completed", "answer": "1-2"})], "ended with"),
        ([*turn(1), *WHOLE], "more than one result"),
        ([*WHOLE[:3], *[WHOLE[2]] * 3, *WHOLE[3:]], "more than 3 starts"),
        ([*WHOLE[:3], ("result", {"key": "1.0", "status": "lost"}), *WHOLE[4:]], "given up after 1 starts"),
        ([*WHOLE[:4], *WHOLE[5:]], "2 tool messages"),
    ],
)
def test_what_is_wrong_is_told(told: list[Told], says: str) -> None:
    violations = judge({"c": stream(*told)}, [], ANSWER).violations
    assert any(says in one for one in violations), violations


def test_a_gap_in_the_stream_is_told() -> None:
    entries = stream(*WHOLE)
    assert judge({"c": entries[:4] + entries[5:]}, [], ANSWER).violations[0] == "c: the stream has a gap"


def test_recovery_is_counted_from_the_kill_to_what_happens_next() -> None:
    asked_again = stream(WHOLE[0], *WHOLE)
    run_again = stream(*WHOLE[:3], *WHOLE[1:3], *WHOLE[3:])
    kills = [
        Kill("orchestrator", 1.5, frozenset({"asked", "undisturbed"})),
        Kill("worker", 3.25, frozenset({"again", "undisturbed"})),
        Kill("redis", 3.25, frozenset({"undisturbed"})),
    ]
    found = judge({"asked": asked_again, "again": run_again, "undisturbed": stream(*WHOLE)}, kills, ANSWER)
    assert found.recoveries == {"orchestrator": [0.5], "worker": [0.75], "redis": [0.75]}
    assert found.model_turns_again == 1
