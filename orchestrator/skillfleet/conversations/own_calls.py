"""The calls that the orchestrator makes itself, and that take their time: subagents and messages (pure)."""

from ..tools.own import MESSAGING
from .ending import Moved, close_turn
from .mail_calls import begin_mail, mail_told
from .models import Conversation
from .moves import Effect, MailCame, Posted, Unposted, WaitOver
from .runs import ToolRun
from .spawning import begin_spawning, wait_over

_MESSAGING = {own.tool for own in MESSAGING}


def with_begun(conversation: Conversation, now: float) -> Moved:
    """With those begun that wait for no person (any more)."""
    if conversation.status not in ("running", "waiting"):
        return conversation, []
    waiting = [run for run in conversation.out if run.own and not (run.begun or run.asks)]
    moved, effects = conversation, list[Effect]()
    for run in waiting:
        moved, more = begin_mail(moved, run, now) if run.name in _MESSAGING else begin_spawning(moved, run, now)
        effects += more
    if not waiting or moved.out:
        return moved, effects
    closed, more = close_turn(moved, now)
    return closed, [*effects, *more]


def own_told(conversation: Conversation, event: MailCame | WaitOver | Posted | Unposted, now: float) -> Moved:
    run = own_run(conversation, event.key)
    if run is None or conversation.status == "paused":
        return conversation, []
    if isinstance(event, WaitOver) and run.awaits:
        return wait_over(conversation, run, now)
    return mail_told(conversation, run, event, now)


def own_run(conversation: Conversation, key: str) -> ToolRun | None:
    return next((run for run in conversation.out if run.key == key and run.begun), None)
