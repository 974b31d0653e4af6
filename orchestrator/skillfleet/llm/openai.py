"""Any provider that speaks OpenAI's Chat Completions."""

import random
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from ..conversations.messages import Message, ToolDefinition
from ..conversations.models import Problem
from . import failures
from .base import ModelReply
from .failures import Failure
from .openai_reply import read_reply

if TYPE_CHECKING:
    from .openai_client import OpenAIClient

DEFAULT_MAX_RETRIES = 4
ATTEMPT_S = 600.0
"""A provider that has been silent for so long is asked again, where the conversation still has time."""

_NO_TIME_S = 0.05


class OpenAIModel:
    """A LanguageModel, shared by many threads. The SDK is imported with the first reply."""

    def __init__(
        self,
        api_key: SecretStr,
        base_url: str,
        model: str,
        *,
        max_retries: int = DEFAULT_MAX_RETRIES,
        backoff_s: float = 0.5,
        attempt_s: float = ATTEMPT_S,
    ) -> None:
        self._key = SecretStr(api_key.get_secret_value().strip())
        self._base_url = base_url.strip()
        self._model = model
        self._max_retries, self._backoff_s, self._attempt_s = max_retries, backoff_s, attempt_s
        self._wrong = _misconfigured(self._key.get_secret_value(), self._base_url, model)
        self._client: OpenAIClient | None = None
        self._building = threading.Lock()

    def reply(
        self, messages: tuple[Message, ...], tools: tuple[ToolDefinition, ...], *, timeout_s: float
    ) -> ModelReply | Problem:
        if self._wrong:
            return self._wrong
        deadline = time.monotonic() + timeout_s
        body: dict[str, Any] = {"messages": [message.wire() for message in messages]}
        if tools:
            body["tools"] = [tool.model_dump(mode="json") for tool in tools]
        tries = 0
        while (left := deadline - time.monotonic()) > _NO_TIME_S:
            outcome = self._attempt(body, messages, min(left, self._attempt_s))
            if isinstance(outcome, ModelReply):
                return outcome
            tries += 1
            pause = failures.pause_before_retry(outcome, tries, self._backoff_s, random.random())
            left = deadline - time.monotonic()
            if left > _NO_TIME_S and (tries > min(outcome.retries, self._max_retries) or pause >= left):
                return self._last(outcome, tries, left)
            time.sleep(min(pause, max(left, 0.0)))
        return failures.timed_out(timeout_s).problem

    def _attempt(self, body: dict[str, Any], messages: tuple[Message, ...], timeout_s: float) -> ModelReply | Failure:
        got = self._connected().complete(self._model, body, timeout_s=timeout_s)
        return got if isinstance(got, Failure) else read_reply(got, messages)

    def _last(self, failure: Failure, tries: int, left: float) -> Problem:
        """The failure, and why nothing more is tried."""
        parts = [failure.problem.message]
        if tries <= min(failure.retries, self._max_retries):
            asked = f"it asks for {failure.wait_s:g} seconds and " if failure.wait_s else ""
            parts.append(f"{asked}the conversation has only {left:.0f} seconds left")
        if tries > 1:
            parts.append(f"tried {tries} times")
        message = "; ".join(parts)
        return failure.problem.model_copy(update={"message": message})

    def _connected(self) -> "OpenAIClient":
        with self._building:
            if self._client is None:
                # A second of import, which every other command of the orchestrator would pay too.
                from .openai_client import OpenAIClient  # noqa: PLC0415

                self._client = OpenAIClient(
                    self._key.get_secret_value(), self._base_url, where=_readable(self._base_url)
                )
            return self._client


def _misconfigured(key: str, base_url: str, model: str) -> Problem | None:
    if not key:
        return Problem(code="model_key_rejected", message="there is no model key", fix="Set LLM_API_KEY.")
    if not (key.isascii() and key.isprintable()):
        message = "the model key holds characters that no HTTP header can carry"
        return Problem(code="model_key_rejected", message=message, fix="Check LLM_API_KEY.")
    if not model:
        return Problem(code="model_not_found", message="no model is named", fix="Set LLM_MODEL_NAME.")
    if not _is_http_url(base_url):
        message = "the model provider's address is not an http(s) URL"
        fix = "Set LLM_API_BASE_URL, as in https://api.openai.com/v1."
        return Problem(code="model_unreachable", message=message, fix=fix)
    return None


def _is_http_url(text: str) -> bool:
    """Strict enough that neither the SDK nor the resolver raises at it."""
    if not (text.isascii() and text.isprintable()) or " " in text:
        return False
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        return False


def _readable(base_url: str) -> str:
    """Without a user name and password."""
    parts = urlsplit(base_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
