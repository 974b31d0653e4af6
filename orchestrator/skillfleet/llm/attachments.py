"""Files that a message shows a model: as images, or as a line of text that says why not (pure)."""

import base64
from collections.abc import Callable
from dataclasses import dataclass

from skillfleet_workers.wire.files import StoredFile

from ..conversations.messages import Message

NOT_AN_IMAGE = "not shown: it is no image that a model takes"
GONE = "not shown: it is no longer there"
NO_VISION = "not shown: the model takes no images"


@dataclass(frozen=True, slots=True)
class Image:
    file: StoredFile
    data: bytes

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode()


def shown(file: StoredFile, read: Callable[[str], bytes | None]) -> Image | str:
    """The image, or the line that stands for it."""
    if not file.is_image:
        return line(file, NOT_AN_IMAGE)
    data = read(file.digest)
    return line(file, GONE) if data is None else Image(file, data)


def line(file: StoredFile, why: str) -> str:
    return f"[{file.name} ({file.media_type}, {file.bytes} bytes): {why}]"


def without_images(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Each attachment as a line of its message's text."""
    return tuple(_as_text(message) if message.attachments else message for message in messages)


def _as_text(message: Message) -> Message:
    lines = [line(file, NO_VISION if file.is_image else NOT_AN_IMAGE) for file in message.attachments or ()]
    return message.model_copy(
        update={"attachments": None, "content": "\n".join([message.content or "", *lines]).strip("\n")}
    )
