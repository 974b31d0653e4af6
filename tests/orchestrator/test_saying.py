"""A reply as a follower puts it together from live entries, and its last lines on a terminal."""

import json
import random

import pytest
from rich.console import Console

from skillfleet.cli.saying import KEPT_CHARS, Saying, last_lines, tail
from skillfleet.events import Entry, EntryType, LiveTold, again, arguments, token


def live(told: LiveTold) -> Entry:
    return Entry(1, 0.0, told[0], json.loads(told[1]), live=True)


def event(kind: EntryType, **data: object) -> Entry:
    return Entry(1, 0.0, kind, data)


def seen(*entries: Entry) -> Saying:
    saying = Saying()
    for entry in entries:
        saying.see(entry)
    return saying


TURN = event("turn", turn=1)
TOLD = [live(token(1, 1, 0, "It ")), live(token(1, 1, 3, "is ")), live(token(1, 1, 6, "42"))]


def test_pieces_become_a_text_and_the_arguments_of_calls() -> None:
    calls = [live(arguments(1, 1, 0, "add", 0, '{"a": ')), live(arguments(1, 1, 0, "add", 6, "1}"))]
    saying = seen(TURN, *TOLD, *calls, live(arguments(1, 1, 1, "list_skills", 0, "")))
    assert (saying.text, saying.calls) == ("It is 42", [("add", '{"a": 1}'), ("list_skills", "")])


def test_an_entry_that_comes_twice_doubles_no_text() -> None:
    assert seen(TURN, TOLD[0], TOLD[0], TOLD[1], TOLD[1], TOLD[2]).text == "It is 42"


def test_who_comes_late_or_has_lost_entries_sees_that_something_is_missing() -> None:
    assert seen(TURN, *TOLD[1:]).text == "…is 42"
    assert seen(TURN, TOLD[0], TOLD[2]).text == "…42"


@pytest.mark.parametrize(
    "voids",
    [
        event("turn", turn=1),
        event("message", role="assistant", content="It is 42"),
        live(again(1, 2)),
        event("ended"),
    ],
    ids=["asked anew", "said", "again", "ended"],
)
def test_what_was_said_counts_no_more(voids: Entry) -> None:
    saying = seen(TURN, *TOLD, live(arguments(1, 1, 0, "add", 0, "{")), voids)
    assert (saying.text, saying.calls) == ("", [])


def test_a_message_of_the_user_and_one_of_a_tool_leave_it_standing() -> None:
    assert seen(TURN, *TOLD, event("message", role="tool"), event("message", role="user")).text == "It is 42"


def test_of_a_stream_that_broke_nothing_is_doubled_though_the_word_of_it_was_lost() -> None:
    anew = [live(token(1, 2, 0, "It ")), live(token(1, 1, 3, "late ")), live(token(1, 2, 3, "was"))]
    assert seen(TURN, *TOLD, *anew).text == "It was"


def test_what_comes_after_the_message_that_it_led_to_is_not_shown() -> None:
    assert seen(TURN, event("message", role="assistant"), *TOLD).text == ""


def test_of_a_long_reply_the_end_is_kept() -> None:
    words = "".join(str(n) for n in range(5000))
    saying, at, dice = seen(TURN), 0, random.Random(7)
    while at < len(words):
        size = dice.randrange(1, 60)
        saying.see(live(token(1, 1, at, words[at : at + size])))
        at += size
    assert words.endswith(saying.text)
    assert KEPT_CHARS <= len(saying.text) <= 3 * KEPT_CHARS


def test_lines_are_broken_by_the_width_of_what_they_hold_and_the_last_stay() -> None:
    console = Console(width=14)
    assert last_lines("It is what it is\n\nyes", console, 9, indented=4) == ["It is what", "it is", "", "yes"]
    assert last_lines("x" * 25, console, 2, indented=4) == ["x" * 10, "x" * 5]
    assert last_lines("日本語日本語", console, 9, indented=4) == ["日本語日本", "語"]
    assert last_lines("", console, 9) == []


def test_what_a_model_says_is_not_obeyed_by_a_terminal() -> None:
    assert last_lines("\x1b[2Jgone\ttab", Console(width=40), 3) == ["␛[2Jgone    tab"]
    assert tail("{\x1b[2J\n  1}", 40) == "{␛[2J 1}"


def test_the_tail_is_one_line_of_so_many_cells() -> None:
    assert tail("x" * 50 + "end", 10) == "…xxxxxxend"
    assert tail("日本語日本語日本語", 7) == "…日本語"
