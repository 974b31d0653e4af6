"""Subagents: begun, waited for, ended (pure)."""

from .ending import Moved
from .models import Conversation
from .runs import ToolRun


def begin_spawning(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    """`spawn_subagent`, `await_subagents` or `cancel_subagent`."""
    raise NotImplementedError


def wait_over(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    """It is answered with how far the children have come for which it waits."""
    raise NotImplementedError
