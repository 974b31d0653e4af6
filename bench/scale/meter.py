"""What redis has read, sent and appended between two moments."""

from dataclasses import dataclass
from typing import Self

import redis


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes. `written`: by clients to redis; `sent`: by redis to clients; `appended`: to its append-only file."""

    written: float
    sent: float
    appended: float

    def minus(self, other: Self) -> Self:
        return type(self)(
            self.written - other.written, self.sent - other.sent, self.appended - other.appended
        )  # fmt: skip


class Meter:
    """Reads redis' own counters; what reading them costs is taken out."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        before, after = self._read(), self._read()
        self._own = after.minus(before)
        self._last = after

    def lap(self) -> Traffic:
        """Since the last lap."""
        now = self._read()
        found, self._last = now.minus(self._last).minus(self._own), now
        return found

    def _read(self) -> Traffic:
        facts = self._client.info()
        return Traffic(facts["total_net_input_bytes"], facts["total_net_output_bytes"], facts["aof_current_size"])
