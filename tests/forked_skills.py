"""A skill with `context: fork`, for tests: what a worker's answer to its activation looks like."""

import json

from tests.conversation_steps import call

from skillfleet.conversations.messages import ToolCall
from skillfleet_workers.wire.calls import CallResult
from skillfleet_workers.wire.contract import Governing

CONTENT = '<skill_content name="research">Read widely, then say what you found.</skill_content>'
RESEARCH = Governing(skill="research", digest="d1", version="1.0.0", fork=True)
ACTIVATED = CallResult(
    status="succeeded", shown=CONTENT, tail="research is active", worker="w1", ms=2.5, governing=RESEARCH
)


def activate(call_id: str = "a", arguments: str = "bees") -> ToolCall:
    given = {"name": "research"} | ({"arguments": arguments} if arguments else {})
    return call("skill", call_id, json.dumps(given))
