"""A conversation whose model writes plans that are executed, until one succeeds: what it is asked, and what of its
reply becomes a call of `execute_plan` (pure).

What was tried stands in the transcript: calls of `execute_plan`, and what each has brought."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from skillfleet_workers.wire.published import Snapshot

from ..plans.drafts import draft_schema, plan_id, read_draft
from ..plans.models import MAX_ATTEMPTS, ExecutionResult
from ..plans.outcome import NO_PLAN, untold_result
from ..plans.replan import Answer, Tried, WritePlan, attempts_made, fallback, next_move
from ..plans.showing import FAILED_SKILLS, shown_result
from ..plans.tool_list import tool_list
from ..subagents.execute_plan import MISFIT
from ..tools.own import EXECUTE_PLAN
from .answers import unfenced
from .limits import Problem
from .messages import FunctionCall, Message, ToolCall
from .models import Conversation

PLANNING_PROMPT = """\
You solve a task by writing one plan: a DAG of tools, which a fleet of workers then executes. You call nothing \
yourself.

- A tool is a script of a skill. Only those listed below exist. `toolPath` is written exactly as it is listed there; \
`input` is the JSON object that the script reads from its standard input.
- `toolId`: a short name of your own, once in the plan. `dependencies`: the toolIds that must have ended before it \
begins. To hand on what one has brought, write {"$from": TOOL_ID, "pointer": JSON_POINTER} in the input, and name it \
in dependencies.
- `parallel` true, and `async` true on a tool, lets it run beside others. `required` false: the plan goes on without \
it, and whoever quotes it gets null.
- `narrative`: one sentence that tells the person what will be done.
- Answer with the plan alone: JSON, with no word before or after it.

The tools:
"""


_MISFITS = (MISFIT, "malformed_arguments")
"""The codes of the ToolErrors that stand in the place of a plan that was not executed."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """`text`: the plan as it was written."""

    text: str
    tried: Tried
    told: str


def answer_of(conversation: Conversation) -> tuple[Message, Problem | None] | None:
    """What it ends with, and why it has failed with that; None: another plan is to be written."""
    attempts = tuple(_attempts(conversation))
    tried = [one.tried for one in attempts]
    move = next_move(tried)
    if isinstance(move, WritePlan) and conversation.closing is None:
        return None
    result = move.result if isinstance(move, Answer) else None
    ended = result or fallback(_prompt(conversation), tried, plan_id(conversation.id, 0))
    message = Message(role="assistant", content=shown_result(ended))
    return message, None if ended.success else _problem(ended, attempts_made(tried))


def asked_to_plan(conversation: Conversation, snapshot: Snapshot | None, budget: int) -> Conversation:
    """The conversation as its model is asked for the next plan."""
    attempts = tuple(_attempts(conversation))
    move = next_move([one.tried for one in attempts])
    disabled = move.disabled if isinstance(move, WritePlan) else ()
    system = PLANNING_PROMPT + tool_list(snapshot, conversation.spec.skills, disabled, budget)
    own = [one.content for one in conversation.spec.opening if one.role == "system" and one.content]
    messages = [Message(role="system", content="\n\n".join([*own, system]))]
    # Of a conversation that goes on from another one, its calls are none that this model may make.
    said = [one for one in conversation.spec.opening if one.role in ("user", "assistant") and one.content]
    messages += [one.model_copy(update={"tool_calls": None}) for one in said]
    for one in attempts:
        messages += [Message(role="assistant", content=one.text or "{}"), Message(role="user", content=one.told)]
    spec = conversation.spec.model_copy(update={"tools": (), "answer_schema": draft_schema()})
    view: dict[str, Any] = {"spec": spec, "messages": tuple(messages), "scripts": (), "trimmed": 0}
    return conversation.model_copy(update=view)


def as_call(conversation: Conversation, reply: Message) -> Message:
    """The model's reply as a call that executes it, and nothing else that it calls. What is no JSON is refused there,
    with the reason."""
    move = next_move([one.tried for one in _attempts(conversation)])
    called = [_written(call.function.arguments) for call in reply.tool_calls or ()]
    draft = read_draft(unfenced(reply.content or next(iter(called), "")))
    if isinstance(draft, dict) and isinstance(move, WritePlan):
        known = {"requestId": str(plan_id(conversation.id, conversation.turn + 1))}
        draft |= known | {"disabledSkills": list(move.disabled), "metadata": move.metadata.as_json()}
    arguments = json.dumps({"plan": draft}, ensure_ascii=False)
    call = ToolCall(
        id=f"plan_{conversation.turn + 1}", function=FunctionCall(name=EXECUTE_PLAN.tool, arguments=arguments)
    )
    return reply.model_copy(update={"content": None, "tool_calls": (call,)})


def without_reply(conversation: Conversation) -> Message:
    """The model brought no reply that could be a plan, which counts as one that does not fit."""
    return as_call(conversation, Message(role="assistant", content=""))


def _attempts(conversation: Conversation) -> Iterator[_Attempt]:
    own = conversation.messages[len(conversation.spec.opening) :]
    shown = {one.tool_call_id: one.content or "" for one in own if one.role == "tool"}
    for message in own:
        for call in message.tool_calls or ():
            if call.function.name == EXECUTE_PLAN.tool and call.id in shown:
                yield _attempt(_written(call.function.arguments), shown[call.id])


def _attempt(text: str, shown: str) -> _Attempt:
    try:
        told = json.loads(shown)
    except ValueError:
        told = None
    told = told if isinstance(told, dict) else {}
    if told.get("error") in _MISFITS:
        why = str(told.get("message", ""))
        return _Attempt(text, Tried(misfit=why), f"{why} Write the whole plan again, corrected: JSON alone.")
    again = "Write another plan, which goes about it in another way, with the tools that are listed now: JSON alone."
    tried = Tried(result=_result(text, told, shown), skills=tuple(told.get(FAILED_SKILLS, ())))
    return _Attempt(text, tried, f"The plan was executed, and has failed: {shown}\n\n{again}")


def _result(text: str, told: dict[str, Any], shown: str) -> ExecutionResult:
    try:
        return ExecutionResult.model_validate(told)
    except ValidationError:
        error = told.get("error")
        why = str(told.get("message", shown))
        return untold_result(_id_in(text), why, cancelled=error == "child_cancelled", late=error == "child_expired")


def _id_in(text: str) -> UUID:
    draft = read_draft(text)
    try:
        return UUID(str(draft["requestId"])) if isinstance(draft, dict) else NO_PLAN
    except (KeyError, ValueError):
        return NO_PLAN


def _written(arguments: str) -> str:
    """The plan in a call's arguments, as JSON."""
    try:
        plan = json.loads(arguments).get("plan")
    except (ValueError, AttributeError):
        return arguments
    return plan if isinstance(plan, str) else json.dumps(plan, ensure_ascii=False)


def _prompt(conversation: Conversation) -> str:
    asked = [one.content or "" for one in conversation.spec.opening if one.role == "user"]
    return asked[-1] if asked else ""


def _problem(result: ExecutionResult, attempts: int) -> Problem:
    how = f" ({result.failure_reason.replace('_', ' ')})" if result.failure_reason else ""
    return Problem(
        code="plans_exhausted" if attempts else "no_plan",
        message=f"No plan succeeded in {attempts} of at most {MAX_ATTEMPTS} attempts{how}.",
        fix="Look at the attempts with `skillfleet plan show`; mend the skills that failed, or ask more exactly.",
    )
