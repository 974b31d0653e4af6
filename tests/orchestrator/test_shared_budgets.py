"""Parents and children share one budget, whatever they begin, wait for, cancel and use."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation_steps import NOW, after, asks, awaiting_model, call, says

from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Limits, Usage
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ChildFinished, Event, ModelReplied, StartChild
from skillfleet.conversations.schedule import Sight, observe
from skillfleet.subagents.fork import outcome
from skillfleet.tools.definitions import definition
from skillfleet.tools.own import SPAWNING
from skillfleet_workers.wire.calls import CallRecord

OUTPUT, COST, CALLS = 10_000, 100.0, 40
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def parent() -> Conversation:
    begun = awaiting_model(max_output_tokens=OUTPUT, max_cost=COST, max_tool_calls=CALLS, max_turns=1000)
    tools = (*begun.spec.tools, *(definition(own) for own in SPAWNING))
    return begun.model_copy(update={"spec": begun.spec.model_copy(update={"tools": tools})})


def asked(place: int, waits: list[bool]) -> ModelReplied:
    """No two of them are alike."""
    calls = [
        call("spawn_subagent", f"{place}-{index}", prompt=f"Part {place}-{index}.", wait=wait)
        for index, wait in enumerate(waits)
    ]
    return asks(*calls)


@settings(max_examples=40, deadline=None)
@given(turns=st.lists(st.lists(st.booleans(), min_size=1, max_size=4), max_size=6), uses=SHARES, order=st.randoms())
def test_what_is_used_and_what_is_kept_for_open_children_never_exceeds_the_limits(
    turns: list[list[bool]], uses: list[float], order: Random
) -> None:
    now, given_to = parent(), dict[str, Limits]()
    for place, waits in enumerate(turns):
        events: list[Event] = [asked(place, waits)]
        while events:
            now, effects = step(now, events.pop(), NOW)
            given_to |= {one.key: one.spec.limits for one in effects if isinstance(one, StartChild)}
            _look(now, given_to)
            opened = [child.key for child in now.open_children]
            if not now.terminal and now.out and opened:
                events.append(_ended(order.choice(opened), given_to, uses[len(given_to) % len(uses)]))
        if now.terminal or now.closing:
            return


def test_what_a_child_leaves_behind_open_is_counted_before_it_has_ended_itself() -> None:
    waiting, effects = step(parent(), asked(0, [True]), NOW)
    (start,) = (one for one in effects if isinstance(one, StartChild))
    child = Conversation.begun(start.spec).model_copy(update={"status": "running"})
    ending = after(child, asked(1, [False]), says("I have begun another one."))
    below = Usage(output_tokens=5, cost=1.0)
    ended = after(ending, ChildFinished("1.0", "tool_error", "", usage=below, calls=2, ended="cancelled"))
    record = CallRecord(attempt=0, beat_at=0, worker="", result=None, begun=child.id, child=outcome(ended))
    heard = after(waiting, *observe(waiting, {"1.0": record}, Sight(NOW)))
    (later,) = (one for one in step(heard, asked(2, [True]), NOW)[1] if isinstance(one, StartChild))
    left = later.spec.limits
    assert heard.usage.output_tokens == waiting.usage.output_tokens + ended.usage.output_tokens
    assert left.max_output_tokens == OUTPUT - heard.usage.output_tokens - 2
    assert left.max_cost == COST - heard.usage.cost
    assert left.max_tool_calls == CALLS - 5


def test_the_share_of_one_that_was_told_to_end_before_it_began_comes_back() -> None:
    left = after(parent(), asked(0, [False]), asks(call("cancel_subagent", agent_id="c1-1-0")))
    assert left.children[0].given is not None
    back = after(left, *observe(left, {}, Sight(NOW)))
    (child,) = back.children
    assert (child.given, child.status, child.begun, child.succeeded) == (None, "cancelled", False, False)
    assert observe(back, {}, Sight(NOW)) == []


def _ended(key: str, given_to: dict[str, Limits], share: float) -> ChildFinished:
    limits = given_to[key]
    used = Usage(output_tokens=int(share * (limits.max_output_tokens or 0)), cost=share * (limits.max_cost or 0))
    return ChildFinished(key, "succeeded", "done", usage=used, calls=int(share * (limits.max_tool_calls or 0)))


def _look(now: Conversation, given_to: dict[str, Limits]) -> None:
    kept = [given_to[child.key] for child in now.children if not child.status]
    assert now.usage.output_tokens + sum(limits.max_output_tokens or 0 for limits in kept) <= OUTPUT
    assert now.usage.cost + sum(limits.max_cost or 0 for limits in kept) <= COST + 1e-6
    made = sum(run.begun for run in now.runs) + sum(child.calls for child in now.children)
    assert made + sum(limits.max_tool_calls or 0 for limits in kept) <= CALLS
