"""What the driver does for the children of the conversations that it serves."""

from collections.abc import Iterable

from .ledger import Ledger
from .models import Conversation
from .moves import Effect, StartChild


def start_children(ledger: Ledger, parent: Conversation, effects: Iterable[Effect], only: set[str] | None) -> None:
    """`only`: the conversations that the driver serves, if it serves no others: they grow by the children."""
    served = only if only is not None else set()
    served.update(child.id for child in parent.open_children)
    for effect in effects:
        if isinstance(effect, StartChild):
            ledger.submit(effect.spec)
            # It was served before, so that the doorbell finds it there; what is not due yet leaves the set.
            served.add(effect.spec.id)
