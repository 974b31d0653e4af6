"""What calls of the tools for subagents and messages have come to, in lines that people read (pure)."""

import json
from typing import Any

from skillfleet_workers.wire.shown import short

from ..plans.showing import LEFT_OUT
from ..tools.own import EXECUTE_PLAN, MESSAGING, SPAWN, SPAWNING

TOLD_CHARS = 400
"""Most of one line."""

MOST_LINES = 6

_TOLD_IN_JSON = {own.tool for own in (*SPAWNING, EXECUTE_PLAN, *MESSAGING)}


def told_of_own(tool: str, shown: str) -> str:
    """`shown`: what the model was shown. One line; of several subagents or messages, one of each."""
    try:
        told = json.loads(shown) if tool in _TOLD_IN_JSON else None
    except (ValueError, RecursionError):  # words: what was waited for in vain follows an empty list
        return short(shown.removeprefix("[]\n"), TOLD_CHARS)
    if tool == SPAWN.tool or not isinstance(told, list):
        return short(_line(told) or shown, TOLD_CHARS)
    lines = [short(_line(one) or one, TOLD_CHARS) for one in told] or ["none"]
    more = [f"and {len(lines) - MOST_LINES + 1} more"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[: MOST_LINES - len(more)], *more])


def _line(told: Any) -> str:
    """Empty: it is neither a subagent, a message nor a plan."""
    match told:
        case {"planId": _, "success": True, "executionTrace": list(trace)}:
            return "the plan succeeded" + (f": {len(trace)} tools" if LEFT_OUT not in told else "")
        case {"planId": _, "failureReason": reason, "failedTools": list(failed)}:
            why = str(reason or "it was ended").replace("_", " ")
            return f"the plan failed: {why}" + (f" of {', '.join(map(str, failed))}" if failed else "")
        case {"error": str(code), "message": str(message)} if code:
            return message
        case {"agent_id": name, "state": state}:
            said = told.get("answer") or told.get("error")
            return f"{told.get('name') or name} is {state}" + (f": {said}" if said else "")
        case {"message_id": _, "delivered_to": count}:
            return f"delivered to {count}"
        case {"message_type": kind, "sender_id": sender, "payload": payload}:
            about = f" about {told['topic']}" if told.get("topic") else ""
            return f"{kind} of {sender}{about}: {json.dumps(payload, ensure_ascii=False)}"
    return ""
