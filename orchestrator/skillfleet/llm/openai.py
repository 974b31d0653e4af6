"""Any provider that speaks OpenAI's Chat Completions."""

from typing import Any

from pydantic import SecretStr

from .base import Hear, ModelReply, ModelRequest
from .failures import Failure
from .openai_reply import read_reply
from .provider import ATTEMPT_S, DEFAULT_MAX_RETRIES, ProviderModel, Wire, misconfigured, readable


def openai_model(
    api_key: SecretStr,
    base_url: str,
    model: str,
    *,
    max_retries: int = DEFAULT_MAX_RETRIES,
    backoff_s: float = 0.5,
    attempt_s: float = ATTEMPT_S,
) -> ProviderModel:
    key, base_url = api_key.get_secret_value().strip(), base_url.strip()

    def connect() -> Wire:
        return OpenAIWire(key, base_url, model)

    wrong = misconfigured(key, base_url, model)
    return ProviderModel(connect, wrong, max_retries=max_retries, backoff_s=backoff_s, attempt_s=attempt_s)


class OpenAIWire:
    def __init__(self, key: str, base_url: str, model: str) -> None:
        # A second of import, which every other command of the orchestrator would pay too.
        from .openai_client import OpenAIClient  # noqa: PLC0415

        self._client, self._model = OpenAIClient(key, base_url, where=readable(base_url)), model

    def attempt(self, request: ModelRequest, timeout_s: float, hear: Hear) -> ModelReply | Failure:
        body: dict[str, Any] = {"messages": [message.wire() for message in request.messages]}
        if request.tools:
            body["tools"] = [tool.model_dump(mode="json") for tool in request.tools]
        got = self._client.complete(self._model, body, timeout_s=timeout_s)
        return got if isinstance(got, Failure) else read_reply(got, request.messages)
