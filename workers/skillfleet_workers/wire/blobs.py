"""What is too big for a message travels by reference: the message names a key, and the key expires."""

import hashlib
import json

import redis

from . import keys
from .contract import CallMessage

INLINE_BYTES = 65_536
"""A field of a request that is longer than this, as JSON, travels by reference."""


class Blobs:
    """Raises redis.RedisError when redis cannot be reached. `ttl_s`: how long a blob is kept after its last use."""

    def __init__(self, client: redis.Redis, ttl_s: int) -> None:
        self._client, self._ttl_s = client, ttl_s

    def referred(self, message: CallMessage) -> CallMessage:
        """The message as it is sent. Doing it again stores nothing twice, and keeps it from expiring."""
        request, references = {}, {}
        for name, value in message.request.items():
            text = json.dumps(value)
            if len(text) <= INLINE_BYTES:
                request[name] = value
                continue
            references[name] = keys.blob(message.ref.conversation_id, hashlib.sha256(text.encode()).hexdigest())
            self._client.set(references[name], text, ex=self._ttl_s)
        return message.model_copy(update={"request": request, "references": references})

    def resolved(self, message: CallMessage) -> CallMessage | None:
        """The message as it was meant; None where a blob has expired."""
        request = dict(message.request)
        for name, key in message.references.items():
            text = self._client.get(key)
            if text is None:
                return None
            request[name] = json.loads(str(text))
        return message.model_copy(update={"request": request, "references": {}})
