"""What redis answers of a submission: who has it (pure)."""

from typing import Any

import redis

ON_DISK_WITHIN_MS = 2500
REPLICATED_WITHIN_MS = 2500
"""One is waited for after the other."""

MAX_WAIT_S = (ON_DISK_WITHIN_MS + REPLICATED_WITHIN_MS) / 1000
"""The longest wait that redis is asked for in one call, seconds."""


def check_replicated(answer: Any, replicas: int) -> None:
    """
    Raises:
        redis.TimeoutError: too few have it by now.
    """
    if isinstance(answer, redis.RedisError):
        raise answer
    if answer < replicas:
        raise redis.TimeoutError(
            f"what was submitted is not on {replicas} replicas yet; with an idempotency key, submit it again"
        )


def on_disk(answer: Any) -> bool:
    """Whether the server can tell that an acceptance is on its disk.

    Raises:
        redis.TimeoutError: it can, but it has not got there.
    """
    if isinstance(answer, redis.ResponseError):  # before Redis 7.2, or no append-only file
        return False
    if isinstance(answer, redis.RedisError):
        raise answer
    if not answer[0]:
        raise redis.TimeoutError("what was submitted is not on disk yet; with an idempotency key, submit it again")
    return True
