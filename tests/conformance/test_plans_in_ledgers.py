"""What a call of a plan is sent from, whichever ledger it is in."""

from dataclasses import replace
from typing import Any

import pytest
from tests.conformance.ledgers import WORLDS, World, claimed, commit_steps
from tests.conversation_steps import finished, make_spec

from skillfleet.conversations.engine import step
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import ConversationSpec
from skillfleet.conversations.moves import Submitted
from skillfleet.conversations.plan_runs import quotes_of
from skillfleet.conversations.plan_turns import no_kept, plan_turn
from skillfleet.plans.checking import read_plan
from skillfleet.plans.models import PlanJson, PlanSpec
from skillfleet.subagents.models import AgentSpec
from skillfleet.tools.definitions import definition
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.contract import RUN_SCRIPT


@pytest.fixture(params=["memory", "redis"])
def world(request: pytest.FixtureRequest) -> World:
    urls = request.getfixturevalue("redis_urls") if request.param == "redis" else RedisUrls("")
    return WORLDS[request.param](urls)


def planned() -> ConversationSpec:
    """Two tools side by side, one of which may fail; two that quote them, one of which nothing is to run beside."""
    tools: list[dict[str, Any]] = [
        {"toolId": "good", "input": {}, "async": True},
        {"toolId": "bad", "input": {}, "async": True, "required": False, "retryPolicy": {"maxRetries": 0}},
        {"toolId": "both", "input": {"all": [{"$from": "good"}, {"$from": "bad"}]}, "dependencies": ["good", "bad"]},
        {"toolId": "last", "input": {"last": {"$from": "both", "pointer": "/n"}}, "dependencies": ["both"]},
    ]
    plan = read_plan({
        "requestId": "6f1c2c1e-3f0a-4c57-9a33-0d6f1f2b8a10", "parallel": True,
        "tools": [{"toolPath": "pdf/scripts/run.py", **tool} for tool in tools],
    })  # fmt: skip
    assert isinstance(plan, PlanJson), plan
    opening = (Message(role="user", content="Go."),)
    agent = AgentSpec(plan=PlanSpec(plan=plan))
    return make_spec().model_copy(update={"agent": agent, "opening": opening, "tools": (definition(RUN_SCRIPT),)})


def quoted_by(world: World, key: str) -> list[tuple[str, str]]:
    """By the call as it is sent by somebody who has not followed its plan: attempts, and pointers into them."""
    (found,) = world.ledger.calls([f"c1.{key}"])
    conversation, run = found
    assert conversation.spec.plan
    return [(one.task_id, one.pointer) for one in quotes_of(conversation, conversation.spec.plan, run)]


def test_a_call_that_is_sent_later_is_sent_with_what_it_quotes(world: World) -> None:
    world.ledger.submit(planned())
    claim = claimed(world)
    begun = step(claim.conversation, Submitted(), claim.now)[0]
    assert begun.spec.plan
    commit_steps(world, claim, Submitted(), plan_turn(begun, begun.spec.plan, None, no_kept, claim.now), due_in=0)
    failed = replace(finished("1.1"), status="failed")
    commit_steps(world, claimed(world, "c1"), finished("1.0"), failed, due_in=0)
    assert quoted_by(world, "1.2") == [("c1.1.0.1", ""), ("", "")]
    commit_steps(world, claimed(world, "c1"), finished("1.2"), due_in=0)
    assert quoted_by(world, "1.3") == [("c1.1.2.1", "/n")]
