"""Every adapter to a provider: files that messages show the model."""

import base64
import hashlib

import pytest
from tests.conformance.model_sides import Asking, applies
from tests.model_answers import Completion, failure
from tests.model_requests import images, told
from tests.orchestrator.asking import ASKED

from skillfleet.conversations.messages import FunctionCall, Message, ToolCall
from skillfleet_workers.wire.files import MAX_IMAGE_BYTES, StoredFile

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
JPEG = b"\xff\xd8\xff\xe0" + b"jpeg" * 10


def stored(data: bytes, name: str, media_type: str, size: int | None = None) -> StoredFile:
    digest = hashlib.sha256(data).hexdigest()
    return StoredFile(name=name, digest=digest, bytes=len(data) if size is None else size, media_type=media_type)


SMALL, PHOTO = stored(PNG, "in/small.png", "image/png"), stored(JPEG, "photo.jpg", "image/jpeg")
TABLE, GONE = stored(b"a,b", "table.csv", "text/csv"), stored(b"gone", "gone.png", "image/png")
HUGE = stored(b"huge", "huge.png", "image/png", MAX_IMAGE_BYTES + 1)
THERE = {SMALL.digest: PNG, PHOTO.digest: JPEG}
CALLS = tuple(ToolCall(id=f"c{n}", function=FunctionCall(name="draw", arguments="{}")) for n in range(2))


def looking(*files: StoredFile) -> tuple[Message, ...]:
    """A conversation whose user, and the first of whose two tools, show these files."""
    return (
        ASKED[0],
        Message(role="user", content="What is this?", attachments=files),
        Message(role="assistant", tool_calls=CALLS),
        Message(role="tool", tool_call_id="c0", name="draw", content="drawn", attachments=files),
        Message(role="tool", tool_call_id="c1", name="draw", content="nothing"),
    )


@applies("requests")
def test_images_of_users_and_tools_are_shown_with_their_names(model: Asking) -> None:
    outcome = model.ask(Completion("A dot."), messages=looking(SMALL, PHOTO), file=THERE.get)
    (body,) = outcome.bodies
    assert outcome.message.content == "A dot."
    assert images(body) == [PNG, JPEG, PNG, JPEG]
    assert str(body).count(SMALL.name) == 2


@applies("requests", streams=[False])
@pytest.mark.parametrize("file", [TABLE, GONE, HUGE])
def test_what_cannot_be_shown_is_a_line_that_says_why(model: Asking, file: StoredFile) -> None:
    outcome = model.ask(Completion("I see none."), messages=looking(file), file=THERE.get)
    (body,) = outcome.bodies
    assert images(body) == []
    assert str(body).count(f"{file.name} ({file.media_type}, {file.bytes} bytes): not shown") == 2
    assert "What is this?" in str(told(body))


@applies("requests", streams=[False])
def test_a_model_that_refuses_images_is_asked_without_them(model: Asking) -> None:
    refused = failure(400, "This model does not support image input.")
    outcome = model.ask(refused, Completion("Blind."), messages=looking(SMALL), file=THERE.get, backoff_s=0.002)
    assert outcome.message.content == "Blind."
    assert [len(images(body)) for body in outcome.bodies] == [2, 0]
    assert SMALL.name in str(outcome.bodies[1])
