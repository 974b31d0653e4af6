"""One exchange with a provider, over any official SDK that is built on httpx2: what was read of it, or a Failure."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import httpx2
from pydantic import SecretStr

from . import failures
from .base import ModelReply
from .bounds import MOST_BYTES, TooLongError, bound_error, bounded
from .failures import NEVER, Failure
from .sse import lines

CONNECT_S = 5.0
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=500)
HOOKS: dict[str, list[Callable[..., Any]]] = {"response": [bound_error]}
"""Of every client."""

REST_S = 1.0
"""Patience with what comes after the end of a stream, seconds."""

STREAM = "text/event-stream"

Read = Callable[[bytes | Iterator[str]], ModelReply | Failure]
"""Reads a whole body, or the lines of a stream."""

_OUR_FAULT = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.TooManyRedirects)


class Answered(Protocol):
    """What an SDK's `with_streaming_response` gives."""

    @property
    def http_response(self) -> httpx2.Response: ...


Send = Callable[[httpx2.Timeout], AbstractContextManager[Answered]]


class Exchanges:
    """With one provider. `refused`, `unconnected`: the SDK's APIStatusError and APIConnectionError."""

    def __init__(self, api_key: str, where: str, *, refused: type[Any], unconnected: type[Any]) -> None:
        self._key, self._where = SecretStr(api_key), where
        self._refused, self._unconnected = refused, unconnected

    def ask(self, send: Send, read: Read, *, timeout_s: float) -> ModelReply | Failure:
        """What `read` makes of the answer; `timeout_s` bounds it from the first to the last byte."""
        deadline = time.monotonic() + timeout_s
        timeout = httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
        try:
            with send(timeout) as answered, _cut_at(deadline, answered.http_response):
                content = self._content(answered.http_response)
                got = read(content)
                if isinstance(got, Failure) and time.monotonic() >= deadline:
                    return failures.timed_out(timeout_s, retries=failures.ALWAYS)
                if isinstance(got, ModelReply) and not isinstance(content, bytes):
                    _read_to_the_end(content, answered.http_response)
                return got
        except TooLongError:
            return failures.malformed(f"it has more than {MOST_BYTES >> 20} MB")
        except self._refused as refused:
            answer = refused.response
            said = self._without_key(answer.content)
            return failures.of_status(answer.status_code, said, answer.headers, time.time())
        except self._unconnected as broken:
            return self._no_answer(broken.__cause__ or broken, timeout_s, deadline)
        except httpx2.HTTPError as broken:
            return self._no_answer(broken, timeout_s, deadline)

    def _content(self, response: httpx2.Response) -> bytes | Iterator[str]:
        if not response.headers.get("content-type", "").startswith(STREAM):
            return self._without_key(b"".join(bounded(response.iter_bytes())))
        key = self._key.get_secret_value()
        return (line.replace(key, "[key]") for line in lines(bounded(response.iter_bytes())))

    def _without_key(self, body: bytes) -> bytes:
        """Providers quote it in their errors; later, cut to length, half of it would be found no more."""
        return body.replace(self._key.get_secret_value().encode(), b"[key]")

    def _no_answer(self, why: BaseException, timeout_s: float, deadline: float) -> Failure:
        silent = isinstance(why, httpx2.TimeoutException) and not isinstance(why, httpx2.ConnectTimeout)
        if silent or time.monotonic() >= deadline:
            return failures.timed_out(timeout_s, retries=failures.ALWAYS)
        reason = str(why) or type(why).__name__
        if isinstance(why, _OUR_FAULT):
            return failures.unreachable(self._where, reason, retries=NEVER)
        return failures.unreachable(self._where, reason)


def _read_to_the_end(stream: Iterator[str], response: httpx2.Response) -> None:
    """A connection is used again only when nothing is left on it; the reply is there already."""
    with contextlib.suppress(httpx2.HTTPError, TooLongError), _cut_at(time.monotonic() + REST_S, response):
        for _ in stream:
            pass


@contextlib.contextmanager
def _cut_at(deadline: float, response: httpx2.Response) -> Iterator[None]:
    """Read timeouts start again with every byte, and some providers send blanks while the model thinks."""
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), _shut, (response,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut(response: httpx2.Response) -> None:
    connection = response.extensions["network_stream"].get_extra_info("socket")
    with contextlib.suppress(OSError):
        # Not SSLSocket.shutdown: it takes the TLS state away under the reader.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
