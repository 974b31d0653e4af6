"""What is compared, and the load that both sides get."""

import time
from collections.abc import Callable
from typing import Protocol

SCRIPT = "print(2+2)"
CALLS_A_CONVERSATION = 3
ANSWER = "It is 4."


class Side(Protocol):
    """A running fleet. Every verb returns when its results are known, and raises where one is wrong."""

    def call(self, count: int) -> None:
        """So many tool calls, sent at once."""
        ...

    def converse(self, count: int) -> None:
        """So many conversations of three turns with one call each, submitted at once."""
        ...


def seconds(action: Callable[[], None]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def latency_ms(action: Callable[[int], None], times: int) -> Callable[[], list[float]]:
    """One at a time."""
    return lambda: [seconds(lambda: action(1)) * 1000 for _ in range(times)]


def rate(action: Callable[[int], None], count: int) -> Callable[[], list[float]]:
    """A second, of `count` at once."""
    return lambda: [count / seconds(lambda: action(count))]
