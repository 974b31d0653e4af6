"""Redis away for a while: who only reads waits for it, and goes on where it was."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import redis

from .errors import NoBrokerError

PATIENCE_S = 75.0
"""An outage of a minute is survived, and then redis may have to read its append-only file."""

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0

Found = TypeVar("Found")


@dataclass(slots=True)
class Outages:
    """`notice` is told once that redis is away, and once that it is back. `mend` does what we can about it. `lost`:
    what to say when it stays away."""

    notice: Callable[[str], None]
    mend: Callable[[], object]
    lost: str
    patience_s: float = PATIENCE_S
    _since: float | None = None
    _pause_s: float = FIRST_PAUSE_S

    def attempt(self, read: Callable[[], Found]) -> Found | None:
        """None: redis is away; try again.

        Raises:
            NoBrokerError: it has been away for too long, or refuses us.
        """
        try:
            found = read()
        except redis.AuthenticationError as error:
            raise self._given_up(error) from None
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self._wait(error)
            return None
        except redis.RedisError as error:
            raise self._given_up(error) from None
        if self._since is not None:
            self.notice(f"redis is back after {time.monotonic() - self._since:.1f} s")
            self._since, self._pause_s = None, FIRST_PAUSE_S
        return found

    def wait_for(self, read: Callable[[], Found]) -> Found:
        """What `read` finds, which is never None.

        Raises: as `attempt`.
        """
        while (found := self.attempt(read)) is None:
            pass
        return found

    def _wait(self, error: redis.RedisError) -> None:
        now = time.monotonic()
        if self._since is None:
            self._since = now
            self.notice(f"redis is away ({error}); waiting for it")
        if now - self._since > self.patience_s:
            raise self._given_up(error)
        with contextlib.suppress(redis.RedisError):
            self.mend()
        time.sleep(self._pause_s)
        self._pause_s = min(LONGEST_PAUSE_S, 2 * self._pause_s)

    def _given_up(self, error: redis.RedisError) -> NoBrokerError:
        return NoBrokerError(f"lost redis: {error}; {self.lost}")
