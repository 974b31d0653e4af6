"""What the driver does for the messages of the conversations that it serves."""

from collections.abc import Iterable

from .ledger import Ledger
from .models import Conversation
from .moves import Deliver, Effect, Subscribe


def post(ledger: Ledger, conversation: Conversation, effects: Iterable[Effect]) -> None:
    """What its calls send, and what they subscribe to; the ledger tells them what became of it."""
    refs = {run.key: run.ref for run in conversation.out}
    for effect in effects:
        if isinstance(effect, Deliver):
            ledger.deliver(effect.message, conversation.root, refs[effect.key])
        elif isinstance(effect, Subscribe):
            ledger.subscribe(conversation.id, effect.pattern, conversation.root, refs[effect.key])
