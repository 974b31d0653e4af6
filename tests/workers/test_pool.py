"""The pool of a worker: whatever becomes of a call, its consumer is told that the slot is free."""

import threading
from typing import Any

import redis

from skillfleet_workers.pool import Pool

PATIENCE_S = 60.0


def fate(target: Any) -> tuple[bool, Any, float | None]:
    """What the consumer is told of a call."""
    told: list[Any] = []
    heard = threading.Event()

    def callback(answer: Any) -> None:
        told.append(answer)
        heard.set()

    pool = Pool(1)
    pool.start()
    try:
        pool.apply_async(target, callback=callback)
        assert heard.wait(PATIENCE_S)
    finally:
        pool.stop()
    (answer,) = told
    return answer  # type: ignore[no-any-return]


def test_a_call_whose_result_cannot_be_stored_has_failed() -> None:
    def refused() -> None:
        raise redis.OutOfMemoryError("no room")

    failed, why, _ = fate(refused)
    assert failed
    assert why.type is redis.OutOfMemoryError


def test_a_call_that_is_well_is_told_of_once() -> None:
    assert fate(lambda: (0, "done", 0.1)) == (0, "done", 0.1)
