"""What is compared, and the load that both sides get."""

from collections.abc import Callable
from typing import Protocol

SCRIPT = "print(2+2)"
CALLS_A_CONVERSATION = 3
ANSWER = "It is 4."

Verb = Callable[[int], float]


class Side(Protocol):
    """A running fleet. Its verbs give the seconds from the first submit until the last result is known, and raise
    where a result is wrong."""

    def call(self, count: int) -> float:
        """So many tool calls, sent at once."""
        ...

    def converse(self, count: int) -> float:
        """So many conversations of three turns with one call each, submitted at once."""
        ...


def latency_ms(verb: Verb, times: int) -> Callable[[], list[float]]:
    """One at a time."""
    return lambda: [verb(1) * 1000 for _ in range(times)]


def rate(verb: Verb, count: int) -> Callable[[], list[float]]:
    """A second, of `count` at once."""
    return lambda: [count / verb(count)]
