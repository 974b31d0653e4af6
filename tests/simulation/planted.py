"""Bugs that others have had, to see that the simulation finds them."""

from collections.abc import Sequence
from dataclasses import replace

from skillfleet.conversations.driver import Driver
from skillfleet.conversations.ledger import Claim, DecidedAs, Nothing, Written
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.memory_store import Kept
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import Effect, RunTool
from skillfleet.conversations.runs import Decision, ToolRun
from skillfleet.conversations.schedule import LEAST_ROOMS, Rooms, Sight
from skillfleet.events import Told

from .planted_in_families import PLANTED_IN_FAMILIES
from .run import Bug


class UnfencedLedger(MemoryLedger):
    """Whoever once had a claim may write for ever."""

    def _held(self, conversation_id: str, fence: int) -> Kept | None:
        return self._store.find(conversation_id)


class ForgetfulLedger(MemoryLedger):
    """What is claimed is due no more: it was taken from the queue, as many queues do."""

    def claim(self, only: str | None = None, rooms: Rooms = LEAST_ROOMS) -> Claim | Nothing:
        found = super().claim(only, rooms)
        if isinstance(found, Claim):
            self._store.due.pop(found.conversation.id)
        return found


class FirstComeLedger(MemoryLedger):
    """Whoever came first is served first: one who brings a thousand holds up all others."""

    def _taken(self, only: str | None) -> str | None:
        ready = self._store.ready
        waiting = [
            (rank[-1], name, tenant) for tenant in ready.members for name, rank in ready.members[tenant].items()
        ]
        if not waiting:
            return None
        _, name, tenant = min(waiting)
        ready.withdraw(tenant, name)
        return name


class HastyDriver(Driver):
    """Performs the effects first, and then commits the step that wanted them."""

    def _commit(
        self,
        claim: Claim,
        before: Conversation,
        after: Conversation,
        effects: list[Effect],
        began: float,
        sight: Sight,
    ) -> bool:
        self._sending.send([effect.run.ref.call_id for effect in effects if isinstance(effect, RunTool)], after)
        return super()._commit(claim, before, after, effects, began, sight)


class SecretiveLedger(MemoryLedger):
    """Tells nobody that a child has ended."""

    def commit(
        self,
        fence: int,
        after: Conversation,
        told: Sequence[Told],
        due: float | None,
        sends: Sequence[ToolRun] = (),
        rooms: Rooms = LEAST_ROOMS,
        taken: Sequence[str] = (),
    ) -> Written | None:
        if after.terminal:
            spec = after.spec.model_copy(update={"parent_call": ""})
            after = after.model_copy(update={"spec": spec})
        return super().commit(fence, after, told, due, sends, rooms, taken)


class OrphaningLedger(MemoryLedger):
    """Whoever ends leaves its children to themselves."""

    def commit(
        self,
        fence: int,
        after: Conversation,
        told: Sequence[Told],
        due: float | None,
        sends: Sequence[ToolRun] = (),
        rooms: Rooms = LEAST_ROOMS,
        taken: Sequence[str] = (),
    ) -> Written | None:
        if after.terminal:
            _forget_children(self._held(after.id, fence))
        return super().commit(fence, after, told, due, sends, rooms, taken)

    def cancel(self, conversation_id: str) -> bool:
        _forget_children(self._store.find(conversation_id))
        return super().cancel(conversation_id)


def _forget_children(kept: Kept | None) -> None:
    if kept is not None:
        kept.calls = {key: replace(record, begun="") for key, record in kept.calls.items()}


class FickleLedger(MemoryLedger):
    """The last word on a call counts."""

    def decide(self, conversation_id: str, key: str, decision: Decision) -> DecidedAs:
        kept = self._store.find(conversation_id)
        if kept is not None and key in kept.calls:
            kept.calls[key] = replace(kept.calls[key], decision="")
        return super().decide(conversation_id, key, decision)


PLANTED = {
    "the fencing check is dropped": Bug(ledger=UnfencedLedger),
    "the claim is lost": Bug(ledger=ForgetfulLedger),
    "the claim serves who came first": Bug(ledger=FirstComeLedger),
    "effects come before the commit": Bug(driver=HastyDriver),
    "the end of a child is lost": Bug(ledger=SecretiveLedger),
    "a child outlives its parent": Bug(ledger=OrphaningLedger),
    "the last word of a person counts": Bug(ledger=FickleLedger),
    **PLANTED_IN_FAMILIES,
}
