"""What a conversation may still use, and the last turn that it is given when that is nothing (pure)."""

from collections.abc import Iterable, Sequence

from skillfleet_workers.wire.contract import ACTIVATE, ToolError

from ..subagents.models import PLAN_TOOL, SPAWN_SUBAGENT, ChildRun
from .limits import LEAST_TIMEOUT_S, Limits, Problem, Usage
from .messages import Message
from .models import Conversation
from .runs import ToolRun

MAX_CALLS_A_TURN = 128
LEAST_OUTPUT_TOKENS = 1024
"""What a reply may be long, however little is left: an answer that is cut is worth less than it costs."""

CLOSING = "Call no more tools: answer now with what you have, and say what is missing."

TOO_MANY_CALLS = ToolError(
    error="too_many_calls",
    message=f"One turn makes {MAX_CALLS_A_TURN} tool calls at most; this one was not made.",
    fix="Make it in the next turn, if it is still needed.",
)
NO_CALLS_LEFT = ToolError(
    error="max_tool_calls",
    message="This conversation may make no more tool calls; this one was not made.",
    fix="Answer with what you have.",
)
LAST_TURN = ToolError(
    error="last_turn",
    message="The conversation has reached its limit; this call was not made.",
    fix="Answer with what you have.",
)
NOTHING_LEFT = ToolError(
    error="no_budget_left",
    message="The conversation has too little left of its limits for another one that works for it.",
    fix="Go about it without that, or answer with what you have.",
)
OUT_OF_TIME = ToolError(
    error="cancelled",
    message="The conversation's time ran short before this call came back: it was stopped.",
    fix="Answer without it, and say that it was not done.",
)


def limit_reached(code: str, value: str, option: str) -> Problem:
    message = f"The conversation reached its limit of {value} before it was done."
    return Problem(code=code, message=message, fix=f"Raise it with {option}.")


def out_of_time(conversation: Conversation) -> Problem:
    seconds, plan = conversation.spec.limits.timeout_s, conversation.spec.plan
    if plan is not None and conversation.started_at is not None:
        seconds = min(seconds, plan.timeout_s)
    return limit_reached("timeout", f"{seconds:g} s", "--timeout")


def reached(conversation: Conversation) -> Problem | None:
    """The limit that leaves no room for another turn; of tool calls: when there was none for one that was wanted."""
    limits, usage = conversation.spec.limits, conversation.usage.plus(_reserved(conversation.children))
    # What runs without a model ends by itself, and its turns are as many as its steps want.
    max_turns = limits.max_turns if conversation.spec.has_model else None
    spent: tuple[tuple[str, float, float | None, str], ...] = (
        ("max_turns", conversation.turn, max_turns, "turns"),
        ("max_input_tokens", usage.input_tokens, limits.max_input_tokens, "input tokens"),
        ("max_output_tokens", usage.output_tokens, limits.max_output_tokens, "output tokens"),
        ("max_cost", usage.cost, limits.max_cost, "in cost"),
    )
    for code, used, most, what in spent:
        if most is not None and used >= most:
            return limit_reached(code, f"{most} {what}", _option(code))
    if any(run.refused == NO_CALLS_LEFT.error for run in conversation.runs if run.ref.turn == conversation.turn):
        return limit_reached("max_tool_calls", f"{limits.max_tool_calls} tool calls", _option("max_tool_calls"))
    return None


def _option(code: str) -> str:
    return f"--{code.replace('_', '-')}"


def with_last_turn(conversation: Conversation, problem: Problem) -> Conversation:
    """The model is told to sum up."""
    told = closing_message(problem)
    return conversation.model_copy(update={"closing": problem, "messages": (*conversation.messages, told)})


def closing_message(problem: Problem) -> Message:
    return Message(role="user", content=f"{problem.message} {CLOSING}")


def admitted(conversation: Conversation, runs: Iterable[ToolRun]) -> tuple[ToolRun, ...]:
    """The calls of a turn: those that it may not make, or has no budget for, are answered instead."""
    left, found = calls_left(conversation), []
    for run in runs:
        if run.status is None:
            error = _refusal(conversation, run, left)
            left = left - 1 if left is not None and error is None else left
            run = run.refuse(error) if error else run
        found.append(run)
    return tuple(found)


def _refusal(conversation: Conversation, run: ToolRun, left: int | None) -> ToolError | None:
    if conversation.closing:
        return LAST_TURN
    if run.ref.index >= MAX_CALLS_A_TURN and conversation.spec.plan is None:
        return TOO_MANY_CALLS
    return NO_CALLS_LEFT if left is not None and left <= 0 else None


def calls_made(conversation: Conversation) -> int:
    """With those that are still to be made, and those of its children."""
    return sum(map(_made, conversation.runs)) + sum(child.calls for child in conversation.children)


def _made(run: ToolRun) -> bool:
    """Also one that a person has denied: what a budget comes to never depends on how soon they speak."""
    return run.sends > 0 or run.begun or run.status is None or run.decision is not None


def calls_left(conversation: Conversation) -> int | None:
    most = conversation.spec.limits.max_tool_calls
    kept = _reserved_calls(conversation.children)
    return None if most is None else max(0, most - calls_made(conversation) - kept)


def _reserved(children: Iterable[ChildRun]) -> Usage:
    """What is kept for those of which it is not known what they have used."""
    kept = [child.given for child in children if child.given]
    return Usage(
        input_tokens=sum(limits.max_input_tokens or 0 for limits in kept),
        output_tokens=sum(limits.max_output_tokens or 0 for limits in kept),
        cost=sum(limits.max_cost or 0.0 for limits in kept),
    )


def _reserved_calls(children: Iterable[ChildRun]) -> int:
    return sum(child.given.max_tool_calls or 0 for child in children if child.given)


def kept_for(children: Sequence[ChildRun]) -> dict[str, float]:
    """Likewise, by the names of Limits; nothing where nothing is limited."""
    usage = _reserved(children)
    kept = {
        "max_tool_calls": _reserved_calls(children),
        "max_input_tokens": usage.input_tokens,
        "max_output_tokens": usage.output_tokens,
        "max_cost": usage.cost,
    }
    return {name: most for name, most in kept.items() if most}


def output_left(conversation: Conversation) -> int | None:
    """Tokens that its next reply may have."""
    most = conversation.spec.limits.max_output_tokens
    if most is None:
        return None
    kept = _reserved(conversation.children).output_tokens
    return max(LEAST_OUTPUT_TOKENS, most - conversation.usage.output_tokens - kept)


def child_limits(parent: Conversation, now: float) -> Limits | None:
    """Of a child that begins now: an equal share of what is left to its parent for each of the turn's calls that may
    begin one, however far the others have come, and for the parent, where it goes on meanwhile. None: that is
    nothing."""
    limits, sharers = parent.spec.limits, _sharers(parent)
    before = [child for child in parent.children if child.turn != parent.turn]
    beside = [child for child in parent.children if child.turn == parent.turn]
    usage = parent.usage.plus(_reserved(before))
    for child in beside:
        usage = usage.minus(child.usage)
    calls = limits.max_tool_calls
    if calls is not None:
        made = calls_made(parent) - sum(child.calls for child in beside) + _reserved_calls(before)
        calls = max(0, calls - made) // sharers
    update = {
        "timeout_s": time_of_child(parent, now),
        "max_tool_calls": calls,
        "max_input_tokens": _share(limits.max_input_tokens, usage.input_tokens, sharers),
        "max_output_tokens": _share(limits.max_output_tokens, usage.output_tokens, sharers),
        "max_cost": None if limits.max_cost is None else (limits.max_cost - usage.cost) / sharers,
    }
    if any(left is not None and left <= 0 for name, left in update.items() if name != "max_tool_calls"):
        return None
    return limits.model_copy(update=update)


def time_of_child(parent: Conversation, now: float) -> float:
    """Seconds: it ends before its parent has to."""
    return min(parent.spec.limits.timeout_s, max(LEAST_TIMEOUT_S, parent.time_left(now)))


def _sharers(parent: Conversation) -> int:
    turn = [run for run in parent.runs if run.ref.turn == parent.turn and _made(run)]
    spawns = [run for run in turn if run.own and run.name in (SPAWN_SUBAGENT, PLAN_TOOL)]
    goes_on = any(run.name == SPAWN_SUBAGENT and not run.request.get("wait", True) for run in spawns)
    return max(1, len(spawns) + sum((run.tool or run.name) == ACTIVATE.tool for run in turn) + goes_on)


def _share(most: int | None, used: int, sharers: int) -> int | None:
    return None if most is None else (most - used) // sharers
