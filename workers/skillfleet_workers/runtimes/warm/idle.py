"""The interpreters that wait for a run."""

from .channel import Warm
from .recipe import Recipe, best_first, shadowed

MOST_IDLE = 32


class Idle:
    """The least recently used go first where they weigh more than `budget_bytes` together. Not thread safe."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._waiting: list[Warm] = []
        """Most recently used last."""
        self._weights: dict[Warm, int] = {}
        """In bytes; of those that are out too."""

    def __contains__(self, interpreter: Warm) -> bool:
        return interpreter in self._waiting

    def all(self) -> list[Warm]:
        return list(self._waiting)

    def best(self, recipe: Recipe) -> Warm | None:
        ranked = best_first(recipe, [one.recipe for one in self._waiting])
        fitting = (self._waiting[at] for at in ranked)
        return next((one for one in fitting if not shadowed(recipe, one.recipe)), None)

    def take(self, interpreter: Warm) -> None:
        self._waiting.remove(interpreter)

    def add(self, interpreter: Warm, weight: int | None) -> list[Warm]:
        """Those that have to go. None: it weighs what it did. The one that was used last stays whatever it weighs."""
        self._waiting.append(interpreter)
        self._weights[interpreter] = self._weights.get(interpreter, 0) if weight is None else weight
        total, count = sum(self._weights[one] for one in self._waiting), len(self._waiting)
        evicted = []
        for one in self._waiting[:-1]:
            if total <= self._budget_bytes and count <= MOST_IDLE:
                break
            total, count = total - self._weights[one], count - 1
            evicted.append(one)
        return evicted

    def forget(self, interpreter: Warm) -> None:
        if interpreter in self._waiting:
            self._waiting.remove(interpreter)
        self._weights.pop(interpreter, None)
