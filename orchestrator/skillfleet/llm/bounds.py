"""How much of an answer is read, and for how long: providers, and what stands before them, may send without end."""

import time
from collections.abc import Iterable, Iterator

import httpx2

MOST_BYTES = 32 * 1024 * 1024
"""Of a reply, unpacked: far more than any has."""

MOST_ERROR_BYTES = 64 * 1024
"""Of an error, as it is sent."""


class TooLongError(Exception):
    """It has more than MOST_BYTES."""


def bounded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Raises: TooLongError."""
    left = MOST_BYTES
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise TooLongError
        yield piece


class _Error(httpx2.SyncByteStream):
    """The body of an error, which SDKs read to its end: its beginning, within the time of the request."""

    def __init__(self, stream: httpx2.SyncByteStream, seconds: float) -> None:
        self._stream, self._deadline = stream, time.monotonic() + seconds

    def __iter__(self) -> Iterator[bytes]:
        left = MOST_ERROR_BYTES
        for piece in self._stream:
            yield piece[:left]
            left -= len(piece)
            if left <= 0 or time.monotonic() >= self._deadline:
                return

    def close(self) -> None:
        self._stream.close()


def bound_error(response: httpx2.Response) -> None:
    """For a client's `event_hooks`."""
    if not response.is_success and isinstance(response.stream, httpx2.SyncByteStream):
        seconds = response.request.extensions["timeout"]["read"]
        response.stream = _Error(response.stream, seconds)
