"""Text of others on a terminal."""

import pytest

from skillfleet_workers.wire.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two lines\n\tof café, 漢字, 👋 and עברית", "two lines\n\tof café, 漢字, 👋 and עברית"),
        ("\x1b[2J", "␛[2J"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("over\rwritten \b\b \x00", "over␍written ␈␈ ␀"),
        ("\x7f", "␡"),
        ("\x9b2J\x9d\x85", r"\x9b2J\x9d\x85"),
        ("\u202egnp.exe\u202c", r"\u202egnp.exe\u202c"),
        ("\u2066a\u2069", r"\u2066a\u2069"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown
