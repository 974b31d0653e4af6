"""What the driver does for the children of the conversations that it serves."""

from collections.abc import Iterable

from .ledger import Ledger
from .moves import Effect, StartChild


def start_children(ledger: Ledger, effects: Iterable[Effect], only: set[str] | None) -> None:
    """`only`: the conversations that the driver serves, if it serves no others: they grow by the children."""
    for effect in effects:
        if not isinstance(effect, StartChild):
            continue
        ledger.submit(effect.spec)
        if only is not None:
            only.add(effect.spec.id)
