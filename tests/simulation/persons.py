"""People who are asked about calls: what they say, when, and who never says anything."""

from skillfleet.conversations.memory_ledger import MemoryLedger
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.runs import Decision, ToolRun

from .place import Place
from .stories import PATIENT_S, word_on
from .violations import claim_that

AGAIN = 0.2
"""How likely somebody says it twice, for the first answer was lost; or says the opposite too late."""


def say(ledger: MemoryLedger, position: Conversation, run: ToolRun) -> str:
    return ledger.decide(position.id, run.key, word_on(run))


class People:
    """Look now and then, and say what they think of some of the calls that wait for them."""

    def __init__(self, place: Place, ledger: MemoryLedger) -> None:
        self._place, self._ledger = place, ledger
        self._look_later()

    def _look_later(self) -> None:
        self._place.world.after(self._place.world.random.uniform(0.5, 10), self._look)

    def _look(self) -> None:
        world, store = self._place.world, self._place.store
        for name in [] if self._place.down else sorted(self._place.invariants.open):
            kept = store.find(name)
            assert kept is not None
            for run in kept.position.with_persons:
                if kept.position.spec.limits.wait_s == PATIENT_S and world.chance(0.7):
                    self._say(kept.position, run)
        self._look_later()

    def _say(self, position: Conversation, run: ToolRun) -> None:
        world = self._place.world
        became = say(self._ledger, position, run)
        world.note("person", f"says {word_on(run).verdict} to {position.id} {run.key}: {became}")
        self._place.invariants.look(position.id)
        if became == "decided" and world.chance(AGAIN):
            claim_that(say(self._ledger, position, run) == "decided", "to say it again changes nothing", run.key)
            late = self._ledger.decide(position.id, run.key, other_word(run))
            claim_that(late == "decided_before", "the first word counts", (position.id, run.key, late))
            self._place.invariants.look(position.id)


def other_word(run: ToolRun) -> Decision:
    said = word_on(run)
    other = "approved" if said.verdict == "denied" else "denied" if said.verdict == "approved" else "answered"
    return Decision.model_validate({"verdict": other, "text": f"not {said.text}"})
