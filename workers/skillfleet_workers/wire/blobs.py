"""What is too big for a message travels by reference: the message names a key, which goes with the conversation."""

import hashlib
import json

import redis

from . import keys
from .contract import CallMessage
from .lua import lua

INLINE_BYTES = 65_536
"""A field of a request that is longer than this, as JSON, travels by reference."""


class Blobs:
    """Raises redis.RedisError when redis cannot be reached. `ttl_s`: how long a blob is kept once its
    conversation has ended."""

    def __init__(self, client: redis.Redis, ttl_s: int) -> None:
        self._client, self._ttl_s = client, ttl_s
        self._store = client.register_script(lua(__package__, "blob"))

    def referred(self, message: CallMessage) -> CallMessage:
        """The message as it is sent. Doing it again stores nothing twice."""
        name = message.ref.conversation_id
        request, references = {}, {}
        for field, value in message.request.items():
            text = json.dumps(value)
            if len(text) <= INLINE_BYTES:
                request[field] = value
                continue
            blob = references[field] = keys.blob(name, hashlib.sha256(text.encode()).hexdigest())
            self._store(keys=[keys.state(name), blob], args=[text, self._ttl_s])
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
