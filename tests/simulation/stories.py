"""What is asked in a run, what the model says to it, and how that reads when nothing goes wrong."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any
from zlib import crc32

from tests.conversation_steps import make_spec
from tests.forked_skills import RESEARCH

from skillfleet.conversations.ending import close_turn
from skillfleet.conversations.ending import replace as with_run
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Limits, Problem, Usage
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import (
    ChildFinished,
    Decided,
    Event,
    ModelFailed,
    ModelReplied,
    StartChild,
    Submitted,
    ToolFinished,
)
from skillfleet.conversations.runs import Decision, ToolRun
from skillfleet.llm.base import ModelReply
from skillfleet.llm.openai_reply import read_reply
from skillfleet.subagents.fork import outcome
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import ASK_USER, MESSAGING, SPAWNING
from skillfleet.tools.permission import read_rules
from skillfleet_workers.wire.contract import CallRef, Effects, Governing

from .chains import CHAIN_SCRIPTS, FLAKY, chain_reply, chained, status_for, written_by_step
from .families import FAMILY_TOOLS, GENERATIONS, Family, for_whom
from .plans import planned

PATIENT_S = 7 * 86400.0
POISON = "os.kill(os.getppid(), 9)"
FORKING = ("research", "review")
"""Skills that child conversations carry out."""
TENANTS = ("ann", "ann", "bob", "cy")
PARALLEL = 3
"""Most calls of a conversation that are out at once."""
MOST_CHAIN_TURNS = 10
CHAINS, PLANS = 0.3, 0.3
"""How likely one without subagents runs skills without a model; and of the others, executes a plan; and"""
FAMILIES = 0.5
"""How likely a conversation may have subagents, and"""
FAMILIAR = 0.6
"""a call of it is about them, and"""
LISTENING = 0.7
"""it waits for messages before it answers."""
REPLY_TOKENS = 5
"""Of each reply of a model."""
RETRIES = 1
"""How often a flaky script is run again after it failed."""
POLICIES = ("ask:run_python_script@pdf", "ask:*, allow:list_skills", "deny:get_skill, ask:skill")
OUTAGE = Problem(code="model_unavailable", message="The provider is down.")


@dataclass(frozen=True, slots=True)
class Story:
    """A conversation that somebody will submit. Times are seconds since the run began."""

    spec: ConversationSpec
    submitted_at: float
    cancelled_at: float | None
    paused_at: float | None


@lru_cache(maxsize=2)
def _blank(*, family: bool) -> ConversationSpec:
    blank = make_spec("blank", timeout_s=PATIENT_S)
    own = (ASK_USER, *(SPAWNING + MESSAGING if family else ()))
    return blank.model_copy(update={"tools": (*blank.tools, *map(definition, own)), "subagents": family})


def tell_stories(random: Random, span_s: float) -> list[Story]:
    """Sometimes all come at once, as a batch does."""
    stories = [tell_story(number, random, span_s) for number in range(1, random.randint(1, 5) + 1)]
    if random.random() < 0.3:
        return [replace(story, submitted_at=stories[0].submitted_at) for story in stories]
    return stories


def tell_story(number: int, random: Random, span_s: float) -> Story:
    family = random.random() < FAMILIES
    turns = random.choice([0, 1, 1, 2, 2, 3, 4]) + 2 * family
    replies = _replies(random, turns, f"answer {number}", forking=0.25, family=Family(0) if family else None)
    children = {}
    for skill in FORKING:
        own = Family(1) if family else None
        turns = random.choice([0, 1, 1, 2])
        children[skill] = _replies(random, turns, f"what {skill} brought", forking=0.1, family=own)
    for depth, name in enumerate(GENERATIONS if family else (), start=1):
        turns = random.choice([0, 1, 2, 3])
        children[name] = _replies(random, turns, f"what {name} says", forking=0.05, family=Family(depth))
    script = {"replies": replies, "children": children}
    hurried = random.random() < 0.15
    limits = Limits(
        timeout_s=random.uniform(1, span_s) if hurried else PATIENT_S,
        max_turns=random.choice([1, 2, 3]) if random.random() < 0.1 else 30,
        max_tool_calls=random.choice([0, 1, 3, 6]) if random.random() < 0.1 else None,
        max_output_tokens=REPLY_TOKENS * random.choice([1, 2, 4]) if random.random() < 0.1 else None,
        wait_s=random.uniform(1, span_s) if random.random() < 0.1 else PATIENT_S,
        max_children=random.choice([0, 1, 2]) if random.random() < 0.1 else 10,
    )
    asked: dict[str, Any] = {"id": f"c{number}", "idempotency_key": f"key {number}"}
    asked |= {"tenant": random.choice(TENANTS), "priority": random.choice([1, 5, 5, 10])}
    asked["rules"] = read_rules(random.choice(POLICIES) if random.random() < 0.3 else "")
    spec = _blank(family=family).model_copy(update={**asked, "script": script, "limits": limits})
    if not family and random.random() < CHAINS:
        spec = spec.model_copy(update=chained(random))
    elif not family and random.random() < PLANS:
        spec = spec.model_copy(update=planned(random))
    at = random.uniform(0, span_s / 2)
    cancelled_at, paused_at = (at + random.uniform(0, span_s / 2) if random.random() < 0.15 else None for _ in "cp")
    return Story(spec, at, cancelled_at, paused_at)


def _replies(
    random: Random, turns: int, answer: str, *, forking: float, family: Family | None = None
) -> list[dict[str, Any]]:
    """`forking`: how likely a call activates a skill that a child conversation carries out."""
    last: dict[str, Any] = {"fails": True} if random.random() < 0.1 else {"text": answer}
    said = [_calling(random, turn, forking, family) for turn in range(turns)]
    if family is not None and random.random() < LISTENING:
        name, arguments = family.listen(random)
        said.append({"calls": [{"id": None, "function": {"name": name, "arguments": arguments}}]})
    return [*said, last]


def _calling(random: Random, turn: int, forking: float, family: Family | None) -> dict[str, Any]:
    repeats = random.random() < 0.2
    calls = []
    for index in range(random.choice([1, 1, 2, 3]) if random.random() < 0.9 else 2 * PARALLEL + 1):
        name, arguments = random.choice(
            [
                ("list_skills", "{}"),
                ("get_skill", '{"skill_name": "calculator"}'),
                ("run_python_script", json.dumps({"skill_name": "calculator", "script": f"print({turn}, {index})"})),
                ("run_python_script", json.dumps({"skill_name": "calculator", "script": POISON})),
                ("run_python_script", json.dumps({"skill_name": "pdf", "script": POISON})),
                ("run_python_script", json.dumps({"skill_name": "pdf", "script": FLAKY})),
                ("read_file_in_skill", '{"skill_name": "calculator", "file_path": "poison"}'),
                ("rm_rf", "{}"),
                ("ask_user", json.dumps({"question": f"What of {turn}, {index}?"})),
                ("get_skill", "{malformed"),
            ]
            if random.random() < 0.4
            else [
                ("list_skills", "{}"),
                ("run_python_script", '{"skill_name": "pdf", "script": "print(1)"}'),
                ("run_python_script", '{"skill_name": "calculator", "script": "print(1)"}'),
            ]
        )
        if random.random() < forking:
            name, arguments = "skill", json.dumps({"name": random.choice(FORKING), "arguments": f"{turn}, {index}"})
        elif family is not None and random.random() < FAMILIAR:
            name, arguments = family.call(random, turn, index)
        calls.append({"id": "call_1" if repeats else None, "function": {"name": name, "arguments": arguments}})
    return {"calls": calls}


def poisonous(request: dict[str, Any]) -> bool:
    """Whether the call kills whichever worker runs it."""
    return request.get("script") == POISON or request.get("file_path") == "poison"


def told_effects(request: dict[str, Any]) -> Effects | None:
    """What a worker says of the call: scripts of one skill may be run again, of the others nothing is known."""
    return "idempotent" if request.get("skill_name") == "pdf" and "script" in request else None


def told_governing(request: dict[str, Any]) -> Governing | None:
    skill = request.get("name")
    return RESEARCH.model_copy(update={"skill": skill}) if skill in FORKING else None


def written_reply(spec: ConversationSpec, messages: tuple[Message, ...]) -> ModelReply | Problem:
    """As a provider sends it, call ids repeated and left out, and as the adapter reads that."""
    if spec.steps:
        return chain_reply(spec, messages)
    assert spec.script is not None
    turn = sum(message.role == "assistant" for message in messages)
    written = spec.script["replies"][turn]
    if "fails" in written:
        return OUTAGE
    calls = [_as_said(spec, call) for call in written.get("calls", ())]
    message = {"content": written.get("text"), "tool_calls": calls or None}
    usage = {"prompt_tokens": 10, "completion_tokens": REPLY_TOKENS}
    reply = read_reply(json.dumps({"choices": [{"message": message}], "usage": usage}).encode(), messages)
    assert isinstance(reply, ModelReply), reply
    return reply


def _as_said(spec: ConversationSpec, call: dict[str, Any]) -> dict[str, Any]:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    if name not in FAMILY_TOOLS:
        return call
    return {**call, "function": {"name": name, "arguments": for_whom(spec, arguments)}}


def word_on(run: ToolRun) -> Decision:
    """What every person says of the call, whenever they are asked."""
    if run.asks == "answer":
        return Decision(verdict="answered", text=f"an answer to {run.request['question']}")
    if crc32(json.dumps([run.key, run.request]).encode()) % 3:
        return Decision(verdict="approved")
    return Decision(verdict="denied", text="Not that.")


def shown_for(ref: CallRef, request: dict[str, Any]) -> str:
    if request.get("script") in CHAIN_SCRIPTS:
        return written_by_step(request)
    return f"result of {ref.key}: {json.dumps(request, sort_keys=True)}"


def undisturbed(spec: ConversationSpec) -> Conversation:
    """The same conversation where nothing goes wrong, nobody cancels and time does not pass."""
    conversation = Conversation.begun(spec)
    for event in _undisturbed_events(spec):
        conversation, _ = step(conversation, event(conversation), spec.created_at)
        while conversation.out:
            run = conversation.out[0]
            if run.asks:
                conversation, _ = step(conversation, Decided(run.key, word_on(run)), spec.created_at)
                continue
            if run.own:
                conversation = _brought(conversation, run, spec.created_at)
                continue
            shown, governing = shown_for(run.ref, run.request), told_governing(run.request)
            done = ToolFinished(run.key, status_for(run.request), shown, "w", governing=governing)
            conversation, effects = step(conversation, done, spec.created_at)
            for child in (effect.spec for effect in effects if isinstance(effect, StartChild)):
                ended = outcome(undisturbed(child.model_copy(update={"created_at": spec.created_at})))
                usage = Usage.model_validate(ended.usage)
                told = ChildFinished(run.key, ended.status, ended.shown, usage=usage, calls=ended.calls)
                conversation, _ = step(conversation, told, spec.created_at)
        for left in conversation.leaving if conversation.ending else ():
            gone = ChildFinished(left.key, "tool_error", "", ended="cancelled")
            conversation, _ = step(conversation, gone, spec.created_at)
        if conversation.terminal:
            return conversation
    raise AssertionError("the script has no end")


def _brought(conversation: Conversation, run: ToolRun, now: float) -> Conversation:
    """What it brings depends on when others speak and end, and is not looked at."""
    moved = with_run(conversation, run.model_copy(update={"status": "succeeded", "shown": "?", "awaits": ()}))
    awaited = tuple(child for child in moved.children if child.key in moved.awaited)
    moved = moved.model_copy(update={"children": awaited})
    return moved if moved.out else close_turn(moved, now)[0]


def _undisturbed_events(spec: ConversationSpec) -> Iterator[Any]:
    yield lambda _: Submitted()
    for _ in spec.script["replies"] if spec.script else range(MOST_CHAIN_TURNS):
        yield lambda now: _said(written_reply(spec, now.messages))


def _said(reply: ModelReply | Problem) -> Event:
    if isinstance(reply, Problem):
        return ModelFailed(reply)
    return ModelReplied(reply.message, reply.usage, problem=reply.problem)
