"""What a file is (pure): images by their content, as models refuse those that are called what they are not."""

import mimetypes

from .files import IMAGE_TYPES

HEAD_BYTES = 16
"""Of a file's beginning, as many are enough to know an image by."""

ANY = "application/octet-stream"
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type_of(name: str, head: bytes) -> str:
    """`head`: its first HEAD_BYTES."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    for beginning, found in _BEGINNINGS:
        if head.startswith(beginning):
            return found
    guessed = mimetypes.guess_type(name)[0] or ANY
    return ANY if guessed in IMAGE_TYPES else guessed
