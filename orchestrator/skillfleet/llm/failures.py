"""What a provider's failures mean: which Problem each is, and whether trying again can help (pure)."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from skillfleet_workers.wire.shown import short

from ..conversations.limits import Problem

NEVER, ONCE, ALWAYS = 0, 1, 1_000_000
SENTENCE_CHARS = 300
BACKOFF_CAP_S = 8.0

CONTEXT_EXCEEDED = "model_context_exceeded"
BAD_REQUEST = "model_bad_request"
TOO_LONG = ("context_length_exceeded", "request_too_large", "string_above_max_length", "exceed_context_size_error")
_TOO_LONG = re.compile(
    r"maximum (context|prompt) length|context (length|window|size|limit)|prompt is too long|input is too long"
    r"|too many (input )?tokens|(input|prompt) token count",
    re.IGNORECASE,
)

_TRY_LATER = "Try again later, or run fewer conversations at a time."
_CHECK_NAME = "Check LLM_MODEL_NAME and LLM_API_BASE_URL."


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt that brought no reply.

    `retries`: how many more attempts this kind of failure deserves, whatever the caller would allow;
    `wait_s`: how long the provider asked us to wait before the next, seconds.
    """

    problem: Problem
    retries: int = NEVER
    wait_s: float | None = None


def of_status(status: int, body: bytes, headers: Mapping[str, str], now: float) -> Failure:
    """`headers` with lower-case names; `now`: seconds since the epoch, for a Retry-After that is a date."""
    sentence, kind = _provider_error(body)
    if kind in TOO_LONG or (status < 500 and status != 429 and (status == 413 or _TOO_LONG.search(sentence))):
        return context_exceeded(sentence)
    said = f"{status}: {sentence}" if sentence else str(status)
    if status == 402 or kind == "insufficient_quota":
        message = f"the model provider's account has no quota left ({said})"
        return Failure(_problem("model_rate_limited", message, "Check the account's billing."))
    return Failure(_problem_of_status(status, said), _retries(status, headers), retry_after(headers, now))


def context_exceeded(sentence: str) -> Failure:
    message = f"the conversation is longer than the model takes ({sentence or 'the provider does not say more'})"
    fix = "Use a model with a larger context window, or begin a new conversation with what matters of this one."
    return Failure(_problem(CONTEXT_EXCEEDED, message, fix))


def _problem_of_status(status: int, said: str) -> Problem:
    if status in (401, 403):
        message = f"the model provider rejects the key ({said})"
        return _problem("model_key_rejected", message, "Check LLM_API_KEY.")
    if status in (404, 405):
        message = f"the model provider knows no such model or page ({said})"
        return _problem("model_not_found", message, _CHECK_NAME)
    if status == 429:
        return _problem("model_rate_limited", f"the model provider limits our rate ({said})", _TRY_LATER)
    if status >= 500 or status in (408, 409):
        return _problem("model_overloaded", f"the model provider failed ({said})", _TRY_LATER)
    return _problem(BAD_REQUEST, f"the model provider refused the request ({said})", _CHECK_NAME)


def _retries(status: int, headers: Mapping[str, str]) -> int:
    # x-should-retry is OpenAI's own header: the provider knows better than its status code says.
    told = {"true": ALWAYS, "false": NEVER}.get(headers.get("x-should-retry", ""))
    if told is not None:
        return told
    return ALWAYS if status in (408, 409, 429) or status >= 500 else NEVER


def unreachable(where: str, reason: str, *, retries: int = ALWAYS) -> Failure:
    message = f"the model provider at {where} can't be reached: {short(reason, SENTENCE_CHARS)}"
    return Failure(_problem("model_unreachable", message, "Check LLM_API_BASE_URL and the network."), retries)


def timed_out(seconds: float, *, retries: int = NEVER) -> Failure:
    message = f"the model did not answer within {seconds:g} seconds"
    fix = "Raise the conversation's timeout, or use a faster model."
    return Failure(_problem("model_timeout", message, fix), retries)


def malformed(what: str, *, retries: int = ONCE) -> Failure:
    message = f"the model's reply can't be used: {short(what, SENTENCE_CHARS)}"
    return Failure(_problem("model_malformed_reply", message, _CHECK_NAME), retries)


def broken_off() -> Failure:
    message = "the model provider's stream ended in the middle of a reply"
    return Failure(
        _problem("model_unreachable", message, "Check the network and whatever proxies are in it."), ALWAYS
    )


def refused(reason: str) -> Failure:
    message = f"the model refused to answer: {short(reason, SENTENCE_CHARS)}"
    return Failure(_problem("model_refused", message, "Change the prompt, or use another model."))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the provider asks for: retry-after-ms, else Retry-After in seconds or as an HTTP date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def pause_before_retry(failure: Failure, tries: int, base_s: float, chance: float) -> float:
    """Seconds: exponential, a quarter of it by `chance` (0 to 1), so that many clients don't return as one;
    what the provider asked for is never undercut."""
    backoff: float = min(BACKOFF_CAP_S, base_s * 2.0 ** min(tries - 1, 30)) * (1 - chance / 4)
    if not failure.wait_s:
        return backoff
    return failure.wait_s + chance * min(1.0, failure.wait_s / 10)


def _provider_error(body: bytes) -> tuple[str, str]:
    """The provider's own sentence, and its own code or type; each may be empty."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return "", ""
    document = document[0] if isinstance(document, list) and document else document
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return (short(error, SENTENCE_CHARS) if isinstance(error, str) else ""), ""
    sentence = error.get("message") or error.get("detail") or ""
    return short(sentence, SENTENCE_CHARS), str(error.get("code") or error.get("type") or "")


def _problem(code: str, message: str, fix: str) -> Problem:
    return Problem(code=code, message=_storable(message), fix=fix)


def _storable(text: str) -> str:
    # JSON can carry half a surrogate pair, which no UTF-8 store takes.
    return text.encode("utf-8", "replace").decode()
