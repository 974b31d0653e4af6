"""Skills that run without a model, one after the other: what they write, which fail, and what must not run then."""

import json
from random import Random
from typing import Any

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.memory_store import MemoryStore
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import ConversationSpec
from skillfleet.conversations.outputs import no_executions
from skillfleet.llm.base import ModelReply, ModelRequest
from skillfleet.llm.chain import ChainModel
from skillfleet.subagents.models import AgentSpec, ChainStep
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import PUBLISH
from skillfleet_workers.wire.contract import RUN_SCRIPT, CallRef

from .violations import claim_that

FLAKY = "succeeds when it is run again"
BROKEN = "fails whenever it is run"
FIRST = ("calculator", "pdf")
LAST, LAST_SCRIPT = "join", "join what the others brought"
CHAIN_SCRIPTS = ("count", "look", FLAKY, BROKEN, LAST_SCRIPT)


def chained(random: Random) -> dict[str, Any]:
    """Of the spec of such a conversation: two steps side by side, one of which may fail, and one that needs both."""
    chance = random.choice(["look", FLAKY, BROKEN])
    steps = (
        ChainStep(skill="calculator", script="count", topic=random.choice(["", "navigation"])),
        ChainStep(skill="pdf", script=chance, topic=random.choice(["", "news"])),
        ChainStep(skill=LAST, script=LAST_SCRIPT, after=FIRST, inputs={"of": "${calculator.skill}"}),
    )
    tools = (definition(RUN_SCRIPT), definition(PUBLISH))
    return {"agent": AgentSpec(skill=LAST, steps=steps), "script": None, "tools": tools, "subagents": False}


def chain_reply(spec: ConversationSpec, messages: tuple[Message, ...]) -> ModelReply | Problem:
    assert spec.agent is not None
    return ChainModel.of(spec, spec.agent, no_executions).reply(ModelRequest(messages))


def status_for(request: dict[str, Any]) -> str:
    """What its script comes to, however often it is run."""
    return "failed" if request.get("script") == BROKEN else "succeeded"


def written_by_step(request: dict[str, Any]) -> str:
    """What is shown of the run, which brings an object."""
    brought = {"skill": request["skill_name"], "given": request.get("arguments")}
    return json.dumps({"status": status_for(request), "returncode": 0, "stdout": json.dumps(brought)})


def look_at_step(store: MemoryStore, ref: CallRef) -> None:
    """As it begins to run."""
    kept = store.find(ref.conversation_id)
    runs = kept.position.runs if kept and kept.position.spec.steps else ()
    if any(run.key == ref.key and run.skill == LAST for run in runs):
        came = {run.skill for run in runs if run.status == "succeeded"}
        claim_that(came >= {*FIRST}, "15: a step runs when all that it needs have succeeded", (ref.task_id, came))
