"""What kind of image some bytes are, as providers look at them (pure)."""

BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


def media_type_of(data: bytes) -> str | None:
    return next((kind for beginning, kind in BEGINNINGS.items() if data.startswith(beginning)), None)
