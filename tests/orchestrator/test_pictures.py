"""One request shows so many images: a person's own, and the newest."""

from typing import Literal

from skillfleet.conversations.messages import Message
from skillfleet.conversations.pictures import with_newest_images
from skillfleet_workers.wire.files import StoredFile


def showing(role: Literal["user", "tool"], *sizes: int) -> Message:
    files = tuple(StoredFile(name=f"{size}.png", digest="d", bytes=size, media_type="image/png") for size in sizes)
    return Message(role=role, content="Here.", tool_call_id="a", attachments=files or None)


def names(messages: tuple[Message, ...]) -> list[list[str]]:
    return [[file.name.partition(".")[0] for file in message.attachments or ()] for message in messages]


OLD, ASKED, NEW, LAST = showing("tool", 1, 2), showing("user", 3), showing("tool", 4, 5), showing("tool")


def test_what_fits_is_shown_as_it_stands() -> None:
    assert with_newest_images((OLD, ASKED, NEW, LAST), 5, 15) == (OLD, ASKED, NEW, LAST)
    assert with_newest_images((LAST,), 0, 0) == (LAST,)


def test_a_person_s_images_come_first_and_then_the_newest() -> None:
    assert names(with_newest_images((OLD, ASKED, NEW, LAST), 3)) == [[], ["3"], ["4", "5"], []]
    assert names(with_newest_images((OLD, ASKED, NEW, LAST), 1)) == [[], ["3"], [], []]


def test_images_that_are_too_big_together_are_left_out_with_all_older_ones() -> None:
    assert names(with_newest_images((OLD, ASKED, NEW, LAST), most_bytes=8)) == [[], ["3"], ["4"], []]
    assert names(with_newest_images((OLD, ASKED, NEW, LAST), most_bytes=13)) == [["1"], ["3"], ["4", "5"], []]


def test_the_model_is_told_which_are_not_shown() -> None:
    old, _, new, last = with_newest_images((OLD, ASKED, NEW, LAST), 2)
    assert old.content == "Here.\n[not shown any more: 1.png, 2.png]"
    assert new.content == "Here.\n[not shown any more: 5.png]"
    assert last.content == "Here."
