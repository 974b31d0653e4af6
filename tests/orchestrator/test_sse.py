from collections.abc import Iterator

import pytest

from skillfleet.llm.sse import events, lines

STREAM = (
    ': hello\r\n\r\nevent: ping\ndata: {"a":\ndata: 1}\nid: 7\n\ndata:no blank\n\nevent: nothing\n\ndata: ü\u2028\n\n'
)
EVENTS = [("ping", '{"a":\n1}'), ("", "no blank"), ("", "ü\u2028")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_do_not_depend_on_how_their_bytes_are_cut(size: int) -> None:
    sent = STREAM.encode()
    assert list(events(lines(sent[at : at + size] for at in range(0, len(sent), size)))) == EVENTS


def test_carriage_returns_end_lines_too() -> None:
    sent = STREAM.replace("\r\n", "\n").replace("\n", "\r\n").encode()
    assert list(events(lines([sent]))) == EVENTS


def test_the_last_event_needs_no_blank_line() -> None:
    assert list(events(lines([b"data: [DO", b"NE]"]))) == [("", "[DONE]")]


def test_an_event_is_told_as_soon_as_its_blank_line_is_there() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"data: 1\n\n"
        raise AssertionError("the next bytes were asked for first")

    assert next(events(lines(chunks()))) == ("", "1")


def test_a_byte_order_mark_and_bytes_that_are_no_text_harm_nothing() -> None:
    assert list(events(lines([b"\xef\xbb\xbfdata: \xff\n\n"]))) == [("", "�")]


def test_lines_with_their_ends_are_read_alike() -> None:
    assert list(events(["data: 1\r\n", "\r\n", "data: 2\n"])) == [("", "1"), ("", "2")]
