"""Which skills a conversation has activated, and which of them governs it (pure)."""

from skillfleet_workers.wire.contract import UsedSkill
from skillfleet_workers.wire.versions import fitting, split

from .models import Conversation
from .runs import ActivatedSkill


def with_activations(conversation: Conversation) -> Conversation:
    """The skills of the turn whose calls are in join those that were activated before: the last one governs.

    What a child carries out governs the child, not this one."""
    runs = (run for run in conversation.runs if run.ref.turn == conversation.turn)
    new = [
        ActivatedSkill(governing=run.governing, turn=conversation.turn)
        for run in runs
        if run.governing and not run.child
    ]
    if not new:
        return conversation
    return conversation.model_copy(update={"activated": (*at_rest((*conversation.activated, *new[:-1])), new[-1])})


def with_used(conversation: Conversation, used: UsedSkill | None) -> Conversation:
    """Each state of each skill once, in the order of first use."""
    if used is None or used in conversation.used:
        return conversation
    return conversation.model_copy(update={"used": (*conversation.used, used)})


def first_used(conversation: Conversation, name: str) -> UsedSkill | None:
    """The state in which its calls first used the skill of that name, which may have a version."""
    bare, version = split(name)
    used = [one for one in conversation.used if one.name == bare and one.digest]
    return next(iter(fitting(used, version)), None)


def at_rest(activated: tuple[ActivatedSkill, ...]) -> tuple[ActivatedSkill, ...]:
    """None of them governs."""
    return tuple(one.model_copy(update={"governs": False}) for one in activated)


def inherited(activated: tuple[ActivatedSkill, ...]) -> tuple[ActivatedSkill, ...]:
    """As they stand in a conversation that goes on."""
    return tuple(one.model_copy(update={"turn": 0}) for one in activated)


def activated_at(conversation: Conversation, turn: int) -> tuple[ActivatedSkill, ...]:
    """At the end of that turn; what was activated in a turn governs until something else is, or the answer."""
    if turn >= conversation.turn:
        return conversation.activated
    kept = tuple(one for one in conversation.activated if 0 < one.turn <= turn)
    if not kept:
        return conversation.spec.activated
    before = at_rest((*conversation.spec.activated, *kept[:-1]))
    return (*before, kept[-1].model_copy(update={"governs": True}))
