"""Any provider that speaks OpenAI's Chat Completions."""

from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from .base import Hear, ModelReply, ModelRequest
from .failures import Failure
from .openai_reply import read_reply
from .openai_request import body_of
from .openai_stream import read_stream
from .provider import ATTEMPT_S, DEFAULT_MAX_RETRIES, NO_OTHERS, ProviderModel, Wire, misconfigured, readable
from .sse import events, lines
from .without import Without


def openai_model(
    api_key: SecretStr,
    base_url: str,
    model: str,
    *,
    streaming: bool = True,
    vision: bool = True,
    max_retries: int = DEFAULT_MAX_RETRIES,
    backoff_s: float = 0.5,
    attempt_s: float = ATTEMPT_S,
    named: Mapping[str, str] = NO_OTHERS,
) -> ProviderModel:
    key, base_url = api_key.get_secret_value().strip(), base_url.strip()

    def connect() -> Wire:
        return OpenAIWire(key, base_url, model, streaming=streaming)

    wrong = misconfigured(key, base_url, model)
    without = Without(images=not vision)
    return ProviderModel(
        connect,
        wrong,
        without=without,
        named=named,
        max_retries=max_retries,
        backoff_s=backoff_s,
        attempt_s=attempt_s,
    )


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
