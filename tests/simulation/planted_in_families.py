"""Bugs with subagents and messages."""

from collections.abc import Sequence
from dataclasses import replace

from skillfleet.conversations.driver import Driver
from skillfleet.conversations.ledger import Accepted, Claim, Nothing, Written
from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import Effect, Finish
from skillfleet.conversations.runs import ToolRun
from skillfleet.conversations.schedule import LEAST_ROOMS, Rooms, Sight
from skillfleet.events import Told

from .run import Bug


class NegligentLedger(MemoryLedger):
    """Who ends takes along only the children that it waits for: as if there were no others."""

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
        kept = self._held(after.id, fence)
        if kept is not None and after.ending:
            alone = {child.key for child in kept.position.open_children} - kept.position.awaited
            for key in alone & kept.calls.keys():
                kept.calls[key] = replace(kept.calls[key], begun="")
        return super().commit(fence, after, told, due, sends, rooms, taken)


class HoardingLedger(MemoryLedger):
    """What was handed out stays in the mailbox."""

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
        return super().commit(fence, after, told, due, sends, rooms)


class HastyMailbox(MemoryLedger):
    """Messages leave the mailbox when the conversation is claimed, as from many queues: if its holder dies, they are
    lost."""

    def claim(self, only: str | None = None, rooms: Rooms = LEAST_ROOMS) -> Claim | Nothing:
        found = super().claim(only, rooms)
        if isinstance(found, Claim) and (kept := self._store.find(found.conversation.id)):
            for mail in found.mailbox:
                kept.mailbox.pop(mail.place)
        return found


class LonelyPause(MemoryLedger):
    """A pause is not passed on."""

    def pause(self, conversation_id: str) -> bool:
        with self._store.changed:
            kept = self._open(conversation_id)
            if kept is not None and kept.pause is None:
                kept.pause = self._store.clock()
                self._store.ring(conversation_id)
            return kept is not None


class HeedlessLedger(MemoryLedger):
    """Runs all steps of a chain at once, whatever each needs."""

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        return super().submit(*map(_unordered, specs))


def _unordered(spec: ConversationSpec) -> ConversationSpec:
    if spec.agent is None or not spec.steps:
        return spec
    steps = tuple(step.model_copy(update={"after": (), "inputs": {}}) for step in spec.steps)
    return spec.model_copy(update={"agent": spec.agent.model_copy(update={"steps": steps})})


class HeedlessPlanner(MemoryLedger):
    """Runs all tools of a plan at once, whatever each needs."""

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        return super().submit(*map(_without_dependencies, specs))


def _without_dependencies(spec: ConversationSpec) -> ConversationSpec:
    if spec.agent is None or spec.plan is None:
        return spec
    tools = tuple(tool.model_copy(update={"dependencies": (), "input": {}}) for tool in spec.plan.plan.tools)
    plan = spec.plan.model_copy(update={"plan": spec.plan.plan.model_copy(update={"tools": tools})})
    return spec.model_copy(update={"agent": spec.agent.model_copy(update={"plan": plan})})


class CrowdingPlanner(MemoryLedger):
    """Has tools of a plan beside each other that must be alone."""

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        return super().submit(*map(_side_by_side, specs))


def _side_by_side(spec: ConversationSpec) -> ConversationSpec:
    if spec.agent is None or spec.plan is None:
        return spec
    tools = tuple(tool.model_copy(update={"concurrent": True}) for tool in spec.plan.plan.tools)
    plan = spec.plan.model_copy(update={"plan": spec.plan.plan.model_copy(update={"tools": tools, "parallel": True})})
    return spec.model_copy(update={"agent": spec.agent.model_copy(update={"plan": plan})})


class CurtLedger(MemoryLedger):
    """Reads of a plan what is out, and nothing of what has ended."""

    def calls(self, call_ids: Sequence[str]) -> list[tuple[Conversation, ToolRun]]:
        return [(one.model_copy(update={"runs": one.with_workers}), run) for one, run in super().calls(call_ids)]


class ImpatientDriver(Driver):
    """What has answered ends at once, whatever still works for it."""

    def _commit(
        self,
        claim: Claim,
        before: Conversation,
        after: Conversation,
        effects: list[Effect],
        began: float,
        sight: Sight,
    ) -> bool:
        if status := after.ending:
            ended = {"status": status, "ending": None, "finished_at": claim.now}
            after, effects = after.model_copy(update=ended), [*effects, Finish(status)]
        return super()._commit(claim, before, after, effects, began, sight)


class ForgetfulOfUsage(MemoryLedger):
    """What one has used that was told to end is told to nobody."""

    def claim(self, only: str | None = None, rooms: Rooms = LEAST_ROOMS) -> Claim | Nothing:
        found = super().claim(only, rooms)
        if isinstance(found, Claim):
            unused = {
                child.key: replace(record, child=record.child.model_copy(update={"usage": {}}))
                for child in found.conversation.leaving
                if (record := found.records.get(child.key)) and record.child
            }
            return replace(found, records={**found.records, **unused})
        return found


PLANTED_IN_FAMILIES = {
    "children that nobody waits for outlive their parent": Bug(ledger=NegligentLedger),
    "messages stay where they were": Bug(ledger=HoardingLedger),
    "messages are taken with the claim": Bug(ledger=HastyMailbox),
    "a pause is not passed on": Bug(ledger=LonelyPause),
    "a chain keeps no order": Bug(ledger=HeedlessLedger),
    "a plan keeps no order": Bug(ledger=HeedlessPlanner),
    "tools that must be alone are not": Bug(ledger=CrowdingPlanner),
    "what a plan's calls quote is not read": Bug(ledger=CurtLedger),
    "a parent does not wait for its children to end": Bug(driver=ImpatientDriver),
    "what a cancelled child has used is forgotten": Bug(ledger=ForgetfulOfUsage),
}
