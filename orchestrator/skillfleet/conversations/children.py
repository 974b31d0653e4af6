"""What the driver does for the children of the conversations that it serves."""

from collections.abc import Iterable

from .ledger import Ledger
from .moves import Effect, StartChild


def start_children(ledger: Ledger, effects: Iterable[Effect], only: set[str] | None) -> None:
    """`only`: the conversations that the driver serves, if it serves no others: they grow by the children."""
    for effect in effects:
        if isinstance(effect, StartChild):
            served = only if only is not None else set()
            # Before, so that the doorbell finds it there; and after, for what is not due yet leaves the set.
            served.add(effect.spec.id)
            ledger.submit(effect.spec)
            served.add(effect.spec.id)
