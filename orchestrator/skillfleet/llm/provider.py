"""A model of a provider: asked again where that can help, never for longer than there is time."""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol, TypedDict, Unpack
from urllib.parse import urlsplit

from pydantic import SecretStr

from ..conversations.limits import Problem
from . import failures
from .base import Again, Hear, ModelReply, ModelRequest, Piece, deaf
from .failures import Failure
from .without import NOTHING, Without, images_of, refused_of

DEFAULT_MAX_RETRIES = 4
ATTEMPT_S = 600.0
"""A provider that has been silent for so long is asked again, where the conversation still has time."""

REFUSED_S = 600.0
"""What a provider has refused it is asked without for so long; of images, those that it was refused with: one that is
broken may have been the reason, and blinds no other conversation."""

NO_OTHERS: Mapping[str, str] = MappingProxyType({})

_NO_TIME_S = 0.05

log = logging.getLogger(__name__)


class Wire(Protocol):
    """A provider's wire format, over its official SDK. Safe to share between threads."""

    def attempt(self, request: ModelRequest, timeout_s: float, hear: Hear) -> ModelReply | Failure:
        """Ask once. `timeout_s` bounds it from the first to the last byte. What was heard of an attempt that failed
        is taken back by the caller."""
        ...


class ProviderModel:
    """A LanguageModel, shared by many threads. `connect` is called with the first reply: importing an SDK takes
    seconds. `wrong`: why nothing can be asked at all. `without`: what it is never asked with. `named`: the settings
    that fixes name, where they stand for others of them."""

    def __init__(
        self,
        connect: Callable[[], Wire],
        wrong: Problem | None = None,
        *,
        without: Without = NOTHING,
        named: Mapping[str, str] = NO_OTHERS,
        max_retries: int = DEFAULT_MAX_RETRIES,
        backoff_s: float = 0.5,
        attempt_s: float = ATTEMPT_S,
        refused_s: float = REFUSED_S,
    ) -> None:
        self._connect, self._wrong, self._named = connect, wrong, named
        self._without, self._refused_s = without, refused_s
        self._refused, self._refused_until = NOTHING, 0.0
        self._refused_images: Mapping[str, float] = {}
        """Until when, by their digests."""
        self._max_retries, self._backoff_s, self._attempt_s = max_retries, backoff_s, attempt_s
        self._wire: Wire | None = None
        self._building = threading.Lock()

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        outcome = self._reply(request, hear)
        if isinstance(outcome, ModelReply):
            return outcome
        fix = outcome.fix
        for name, other in self._named.items():
            fix = fix.replace(name, other)
        return outcome.model_copy(update={"fix": fix})

    def _reply(self, request: ModelRequest, hear: Hear) -> ModelReply | Problem:
        if self._wrong:
            return self._wrong
        deadline = time.monotonic() + request.timeout_s
        tries, known = 0, self._known_without(request)
        without = known
        while (left := deadline - time.monotonic()) > _NO_TIME_S:
            asked = without.of(request)
            outcome = self._attempt(asked, min(left, self._attempt_s), hear)
            if isinstance(outcome, ModelReply):
                if without != known:
                    self._remember(without, request)
                return outcome
            if refused := refused_of(asked, outcome):
                without = without.plus(refused)
                continue
            tries += 1
            pause = failures.pause_before_retry(outcome, tries, self._backoff_s, random.random())
            left = deadline - time.monotonic()
            if left > _NO_TIME_S and (tries > min(outcome.retries, self._max_retries) or pause >= left):
                return self._last(outcome, tries, left)
            time.sleep(min(pause, max(left, 0.0)))
        return failures.timed_out(request.timeout_s).problem

    def _attempt(self, request: ModelRequest, timeout_s: float, hear: Hear) -> ModelReply | Failure:
        heard = False

        def hears(piece: Piece) -> None:
            nonlocal heard
            heard = True
            hear(piece)

        outcome = self._connected().attempt(request, timeout_s, hears)
        if heard and isinstance(outcome, Failure):
            hear(Again())
        return outcome

    def _known_without(self, request: ModelRequest) -> Without:
        now, images = time.monotonic(), self._refused_images
        known = self._without.plus(self._refused) if now < self._refused_until else self._without
        blind = any(now < images.get(digest, 0.0) for digest in images_of(request)) if images else False
        return known.plus(Without(images=blind))

    def _remember(self, without: Without, request: ModelRequest) -> None:
        """A request was refused with it, and answered without."""
        log.warning("the model provider refuses %s, and is asked without", " and ".join(without.names))
        now = time.monotonic()
        until = now + self._refused_s
        if without.images:
            known = {digest: end for digest, end in self._refused_images.items() if now < end}
            self._refused_images = known | dict.fromkeys(images_of(request), until)
        rest = replace(without, images=False)
        if rest.names:
            self._refused, self._refused_until = self._refused.plus(rest), until

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

    def _connected(self) -> Wire:
        with self._building:
            if self._wire is None:
                self._wire = self._connect()
            return self._wire


class Patience(TypedDict, total=False):
    """How often and how long a provider is tried; what is left out is as a ProviderModel has it."""

    max_retries: int
    backoff_s: float
    attempt_s: float


def provider_model(
    wire: Callable[[str, str, str], Wire],
    api_key: SecretStr,
    base_url: str,
    model: str,
    *,
    vision: bool,
    named: Mapping[str, str],
    **patience: Unpack[Patience],
) -> ProviderModel:
    """`wire`: of a key, an address and a model. `vision`: it can be shown images."""
    to = api_key.get_secret_value().strip(), base_url.strip(), model
    without = Without(images=not vision)
    return ProviderModel(lambda: wire(*to), misconfigured(*to), without=without, named=named, **patience)


def misconfigured(key: str, base_url: str, model: str) -> Problem | None:
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


def readable(base_url: str) -> str:
    """Without a user name and password."""
    parts = urlsplit(base_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
