"""Bugs that others have had, to see that the simulation finds them."""

from skillfleet.conversations.driver import Driver
from skillfleet.conversations.ledger import Claim, Nothing
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.memory_store import Kept
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import Effect, RunTool

from .run import Bug


class UnfencedLedger(MemoryLedger):
    """Whoever once had a claim may write for ever."""

    def _held(self, conversation_id: str, fence: int) -> Kept | None:
        return self._store.find(conversation_id)


class ForgetfulLedger(MemoryLedger):
    """What is claimed is due no more: it was taken from the queue, as many queues do."""

    def claim(self, only: str | None = None) -> Claim | Nothing:
        found = super().claim(only)
        if isinstance(found, Claim):
            self._store.due.pop(found.conversation.id)
        return found


class HastyDriver(Driver):
    """Performs the effects first, and then commits the step that wanted them."""

    def _commit(
        self,
        claim: Claim,
        before: Conversation,
        after: Conversation,
        effects: list[Effect],
        began: float,
        listening_since: float,
    ) -> bool:
        for effect in effects:
            if isinstance(effect, RunTool):
                self._calls.send(after, effect.run)
        return super()._commit(claim, before, after, effects, began, listening_since)


PLANTED = {
    "the fencing check is dropped": Bug(ledger=UnfencedLedger),
    "the claim is lost": Bug(ledger=ForgetfulLedger),
    "effects come before the commit": Bug(driver=HastyDriver),
}
