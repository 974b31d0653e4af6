"""OpenAI's official SDK, for one request at a time. Importing it costs a second."""

from contextlib import AbstractContextManager
from typing import Any

import httpx2
import openai

from .base import ModelReply
from .exchange import HOOKS, LIMITS, Answered, Exchanges, Read
from .failures import Failure


class OpenAIClient:
    """One pool of connections, shared by every thread. Retries are the caller's: the SDK's own know no total
    time and would sleep past it."""

    def __init__(self, api_key: str, base_url: str, *, where: str) -> None:
        sdk = openai.OpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(limits=LIMITS, event_hooks=HOOKS),
        )
        self._completions = sdk.chat.completions.with_streaming_response
        self._exchanges = Exchanges(
            api_key, where, refused=openai.APIStatusError, unconnected=openai.APIConnectionError
        )

    def ask(self, model: str, body: dict[str, Any], read: Read, *, timeout_s: float) -> ModelReply | Failure:
        def send(timeout: httpx2.Timeout) -> AbstractContextManager[Answered]:
            # The SDK walks `messages` through its types, 14 ms for 60 of them; extra_body goes as it is.
            return self._completions.create(model=model, messages=[], extra_body=body, timeout=timeout)

        return self._exchanges.ask(send, read, timeout_s=timeout_s)
