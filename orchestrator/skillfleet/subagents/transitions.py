"""The states of a subagent over the status of its conversation, and which may follow which (pure)."""

from ..conversations.models import Status
from .models import AgentState

TRANSITIONS: dict[AgentState, frozenset[AgentState]] = {
    AgentState.IDLE: frozenset({AgentState.RUNNING, AgentState.FAILED}),
    AgentState.RUNNING: frozenset({AgentState.PAUSED, AgentState.COMPLETED, AgentState.FAILED}),
    AgentState.PAUSED: frozenset({AgentState.RUNNING, AgentState.FAILED}),
    AgentState.COMPLETED: frozenset(),
    AgentState.FAILED: frozenset(),
}
"""Seed 002's, and what it forgets: paused to failed, of what is cancelled or out of time."""

_STATES: dict[Status, AgentState] = {
    "queued": AgentState.IDLE,
    "running": AgentState.RUNNING,
    "waiting": AgentState.RUNNING,
    "paused": AgentState.PAUSED,
    "completed": AgentState.COMPLETED,
    "failed": AgentState.FAILED,
    "cancelled": AgentState.FAILED,
    "expired": AgentState.FAILED,
}


def state_of(status: Status, *, started: bool = True) -> AgentState:
    """`started`: False of what has not begun, which is idle though it be paused."""
    return AgentState.IDLE if status == "paused" and not started else _STATES[status]


def refusal(state: AgentState, wanted: AgentState) -> str | None:
    """Why a subagent in this state can't be made `wanted`; None: it can."""
    allowed = [one.value for one in AgentState if one in TRANSITIONS[state]]
    if wanted in allowed:
        return None
    if not allowed:
        return f"it is {state}, and what has ended moves no more"
    return f"it is {state}, and what is {state} can become {' or '.join(allowed)}, not {wanted}"
