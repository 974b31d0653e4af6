"""Anthropic's Messages."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Unpack

from pydantic import SecretStr

from .anthropic_reply import read_reply
from .anthropic_request import body_of
from .anthropic_stream import read_stream
from .base import Hear, ModelReply, ModelRequest
from .failures import Failure
from .provider import NO_OTHERS, Patience, ProviderModel, provider_model, readable
from .sse import events

MAX_OUTPUT_TOKENS = 8192


def anthropic_model(
    api_key: SecretStr,
    base_url: str,
    model: str,
    *,
    streaming: bool = True,
    vision: bool = True,
    max_output_tokens: int = MAX_OUTPUT_TOKENS,
    named: Mapping[str, str] = NO_OTHERS,
    **patience: Unpack[Patience],
) -> ProviderModel:
    """`base_url`: with or without the `/v1` that the SDK adds. `max_output_tokens`: of a reply, where the request
    names none; the provider wants to be told."""
    wire = partial(AnthropicWire, streaming=streaming, max_output_tokens=max_output_tokens)
    return provider_model(wire, api_key, base_url, model, vision=vision, named=named, **patience)


class AnthropicWire:
    def __init__(self, key: str, base_url: str, model: str, *, streaming: bool, max_output_tokens: int) -> None:
        # As with OpenAI's: the import takes a second.
        from .anthropic_client import AnthropicClient  # noqa: PLC0415

        root = base_url.rstrip("/").removesuffix("/v1")
        self._client, self._model = AnthropicClient(key, root, where=readable(base_url)), model
        self._streaming, self._max_output_tokens = streaming, max_output_tokens

    def attempt(self, request: ModelRequest, timeout_s: float, hear: Hear) -> ModelReply | Failure:
        def read(content: bytes | Iterator[str]) -> ModelReply | Failure:
            if isinstance(content, bytes):
                return read_reply(content, request.messages)
            return read_stream(events(content), request.messages, hear)

        body = body_of(request, stream=self._streaming, max_output_tokens=self._max_output_tokens)
        if request.schema is not None and (form := self._client.answer_format(request.schema)):
            body["output_config"] = {"format": form}
        return self._client.ask(self._model, body, read, timeout_s=timeout_s)
