"""Anthropic's official SDK, for one request at a time. Importing it costs a second."""

from contextlib import AbstractContextManager
from typing import Any

import anthropic
import httpx2

from .base import ModelReply
from .exchange import HOOKS, LIMITS, Answered, Exchanges, Read
from .failures import Failure


class AnthropicClient:
    """One pool of connections, shared by every thread. Retries are the caller's."""

    def __init__(self, api_key: str, base_url: str, *, where: str) -> None:
        sdk = anthropic.Anthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            http_client=anthropic.DefaultHttpxClient(limits=LIMITS, event_hooks=HOOKS, follow_redirects=False),
            # As the provider documents it; this SDK would send it as a bearer's token. Where a redirect leads it
            # would go along, unlike that one: none is followed.
            default_headers={"X-Api-Key": api_key, "Authorization": anthropic.Omit()},  # type: ignore[dict-item]
        )
        self._messages = sdk.messages.with_streaming_response
        self._exchanges = Exchanges(
            api_key, where, refused=anthropic.APIStatusError, unconnected=anthropic.APIConnectionError
        )

    def ask(self, model: str, body: dict[str, Any], read: Read, *, timeout_s: float) -> ModelReply | Failure:
        def send(timeout: httpx2.Timeout) -> AbstractContextManager[Answered]:
            # As with OpenAI's: extra_body goes as it is, and is what counts.
            return self._messages.create(
                model=model, max_tokens=body["max_tokens"], messages=[], extra_body=body, timeout=timeout
            )

        return self._exchanges.ask(send, read, timeout_s=timeout_s)

    def answer_format(self, schema: dict[str, Any]) -> dict[str, Any] | None:
        """Of `output_config`; None: the schema can't be said in the words that the provider takes, which has every
        object closed. What it has no other words for stands in descriptions."""
        if _is_open(schema):
            return None
        try:
            return {"type": "json_schema", "schema": anthropic.transform_schema(schema)}
        except (ValueError, TypeError, AttributeError, AssertionError, RecursionError):
            return None


def _is_open(schema: Any) -> bool:
    """Whether an object of it has names that are not told."""
    if isinstance(schema, list):
        return any(map(_is_open, schema))
    if not isinstance(schema, dict):
        return False
    if schema.get("additionalProperties") or (schema.get("type") == "object" and not schema.get("properties")):
        return True
    return any(map(_is_open, schema.values()))
