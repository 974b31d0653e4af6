"""Which images of a transcript a model is shown (pure): providers take only so much in one request."""

from .messages import Message

MAX_IMAGES = 50
MAX_BYTES = 22_000_000
"""Of all images of one request. Providers take 32 MB, in which images are a third longer."""


def with_newest_images(
    messages: tuple[Message, ...], most: int = MAX_IMAGES, most_bytes: int = MAX_BYTES
) -> tuple[Message, ...]:
    """First the person's images, then those that calls brought; of each, the newest. Where an image is left out, the
    message says so."""
    if not any(message.attachments for message in messages):
        return messages
    left = _left_out(messages, most, most_bytes)
    return tuple(_without(message, left.get(place, set())) for place, message in enumerate(messages))


def _left_out(messages: tuple[Message, ...], most: int, room: int) -> dict[int, set[int]]:
    """By the message's place, the places of attachments."""
    places = [
        (message.role != "user", -place, index)
        for place, message in enumerate(messages)
        for index in range(len(message.attachments or ()))
    ]
    left: dict[int, set[int]] = {}
    for _, place, index in sorted(places):
        file = (messages[-place].attachments or ())[index]
        if most and file.bytes <= room:
            most, room = most - 1, room - file.bytes
        else:
            most = 0
            left.setdefault(-place, set()).add(index)
    return left


def _without(message: Message, left: set[int]) -> Message:
    if not left:
        return message
    attached = message.attachments or ()
    kept = tuple(file for index, file in enumerate(attached) if index not in left)
    names = ", ".join(attached[index].name for index in sorted(left))
    content = f"{message.content or ''}\n[not shown any more: {names}]"
    return message.model_copy(update={"attachments": kept or None, "content": content})
