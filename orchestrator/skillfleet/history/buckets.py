"""Durations in buckets, each 2% wider than the one before (pure)."""

import math

_GROWTH = math.log(1.02)


def bucket_of(duration_ms: int) -> int:
    """0: less than a millisecond."""
    return math.floor(math.log(duration_ms) / _GROWTH) + 1 if duration_ms >= 1 else 0


def middle_of(bucket: int) -> float:
    """Milliseconds that stand for those in the bucket: none of them is more than 1% away."""
    return math.exp((bucket - 0.5) * _GROWTH) if bucket else 0.0
