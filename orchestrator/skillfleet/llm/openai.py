"""Any provider that speaks OpenAI's Chat Completions."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Unpack

from pydantic import SecretStr

from .base import Hear, ModelReply, ModelRequest
from .failures import Failure
from .openai_reply import read_reply
from .openai_request import body_of
from .openai_stream import read_stream
from .provider import NO_OTHERS, Patience, ProviderModel, provider_model, readable
from .sse import events, lines


def openai_model(
    api_key: SecretStr,
    base_url: str,
    model: str,
    *,
    streaming: bool = True,
    vision: bool = True,
    named: Mapping[str, str] = NO_OTHERS,
    **patience: Unpack[Patience],
) -> ProviderModel:
    wire = partial(OpenAIWire, streaming=streaming)
    return provider_model(wire, api_key, base_url, model, vision=vision, named=named, **patience)


class OpenAIWire:
    def __init__(self, key: str, base_url: str, model: str, *, streaming: bool) -> None:
        # A second of import, which every other command of the orchestrator would pay too.
        from .openai_client import OpenAIClient  # noqa: PLC0415

        self._client, self._model = OpenAIClient(key, base_url, where=readable(base_url)), model
        self._streaming = streaming

    def attempt(self, request: ModelRequest, timeout_s: float, hear: Hear) -> ModelReply | Failure:
        def read(content: bytes | Iterator[str]) -> ModelReply | Failure:
            if self._streaming and isinstance(content, bytes) and content.startswith(b"data:"):
                content = lines([content])  # a stream that calls itself something else
            if isinstance(content, bytes):
                return read_reply(content, request.messages)
            return read_stream(events(content), request.messages, hear)

        body = body_of(request, stream=self._streaming)
        return self._client.ask(self._model, body, read, timeout_s=timeout_s)
