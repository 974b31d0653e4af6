"""Ids that are UUIDs of version 4 in form, and can be made again."""

import hashlib
import uuid


def uuid_of(text: str) -> str:
    """Always the same for `text`, so that doing something twice gives one id."""
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


def is_uuid4(text: str) -> bool:
    try:
        return uuid.UUID(text).version == 4 and str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
