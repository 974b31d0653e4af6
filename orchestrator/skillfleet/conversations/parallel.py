"""Of many calls in one turn few are out at once: the others are sent as those come back (pure)."""

from .models import Conversation
from .moves import Effect, RunTool
from .plan_runs import sendable


def with_sent(conversation: Conversation, most: int, now: float) -> tuple[Conversation, list[Effect]]:
    """With the calls sent that there is room for, in their order; `most` are out at once."""
    if conversation.status not in ("running", "waiting"):
        return conversation, []
    room = most - sum(run.sends > 0 for run in conversation.out)
    plan = conversation.spec.plan
    ready = conversation.unsent if plan is None else sendable(conversation, plan)
    unsent = ready[: max(0, room)]
    if not unsent:
        return conversation, []
    sent = {run.key: run.model_copy(update={"sends": 1, "sent_at": now}) for run in unsent}
    moved = conversation.model_copy(update={"runs": tuple(sent.get(run.key, run) for run in conversation.runs)})
    return moved, [RunTool(run) for run in sent.values()]
