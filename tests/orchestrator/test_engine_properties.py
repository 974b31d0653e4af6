"""What holds of the engine whatever happens, in whatever order."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation_steps import NOW, asks, call, finished, list_skills, queued, run_python, says

from skillfleet.conversations.budgets import calls_made
from skillfleet.conversations.ending import pending
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.lost_calls import MAX_STARTS
from skillfleet.conversations.messages import Message, ToolCall, transcript_problem
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import (
    CallModel,
    CancelRequested,
    DeadlinePassed,
    Effect,
    Event,
    Finish,
    ModelFailed,
    Paused,
    Resumed,
    RunTool,
    Submitted,
    TimeShort,
    ToolFailed,
    ToolLost,
    ToolUnstarted,
)
from skillfleet.events import Told, changes
from skillfleet_workers.wire.contract import ScriptTool

EXTRACT = ScriptTool(tool="pdf__extract", script="scripts/extract.py", language="python")
MAKES: list[Callable[[str], ToolCall]] = [
    list_skills,
    run_python,
    lambda name: call("rm_rf", name),
    lambda name: call("get_skill", name, arguments='{"skill_name": "\\ud800"}'),
    lambda name: call("get_skill", name, skill_name="pdf"),
    lambda name: call(EXTRACT.tool, name),
]
TOOL_CALLS = st.sampled_from(MAKES)
PARALLEL = 2
LIMITS = st.fixed_dictionaries(
    {"max_turns": st.integers(1, 5)},
    optional={"max_tool_calls": st.integers(0, 5), "max_output_tokens": st.integers(1, 6)},
)


@dataclass
class Story:
    """A conversation and all that it has brought about."""

    now: Conversation
    effects: list[Effect] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    ids: int = 0

    def new_call(self, make: Callable[[str], ToolCall]) -> ToolCall:
        self.ids += 1
        return make(f"id{self.ids}")

    def happen(self, event: Event) -> None:
        before = self.now
        self.now, effects = step(before, event, NOW, PARALLEL)
        self.effects += effects
        self.told += changes(before, self.now, effects)
        check_step(before, self.now, effects)


def check_step(before: Conversation, now: Conversation, effects: list[Effect]) -> None:
    if before.terminal:
        assert (now, effects) == (before, [])
    assert now.messages[: len(before.messages)] == before.messages
    assert (transcript_problem(now.messages) is None) == (not now.out)
    asked = [effect for effect in effects if isinstance(effect, CallModel)]
    assert now.status != "paused" or not any(isinstance(effect, CallModel | RunTool) for effect in effects)
    assert len(asked) <= 1
    assert not asked or pending(now)
    assert all(effect.run in now.out for effect in effects if isinstance(effect, RunTool))
    assert sum(isinstance(effect, Finish) for effect in effects) == (now.terminal and not before.terminal)
    assert now.closing is None or before.closing in (None, now.closing)
    assert now.turn <= now.spec.limits.max_turns + (now.closing is not None)
    most = now.spec.limits.max_tool_calls
    assert most is None or calls_made(now) <= most
    assert sum(run.sends > 0 for run in now.out) <= PARALLEL
    assert now.status == "paused" or not now.unsent or any(run.sends for run in now.out)
    assert not now.closing or now.terminal or not now.out
    for run in now.runs:
        assert run.losses <= MAX_STARTS
        assert run.status or run.effects != "unsafe"
        assert not run.dead or run.effects == "unsafe" or run.losses == MAX_STARTS


def draw_event(data: st.DataObject, story: Story) -> Event:
    keys = [f"{turn}.{index}" for turn in range(3) for index in range(3)]
    key = data.draw(st.sampled_from([run.key for run in story.now.out] * 5 + keys), "key")
    calls = st.lists(TOOL_CALLS, min_size=1, max_size=4)
    makes: list[Callable[[], Event]] = [
        lambda: asks(*(story.new_call(make) for make in data.draw(calls, "calls"))),
        lambda: finished(key),
        lambda: finished(key, ""),
        lambda: replace(finished(key), tools=(EXTRACT,)),
        lambda: ToolUnstarted(key),
        lambda: ToolLost(key),
        lambda: ToolLost(key, "idempotent"),
        lambda: ToolFailed(key),
        Submitted,
        lambda: says("42"),
        lambda: ModelFailed(Problem(code="x", message="y")),
        Paused,
        Resumed,
        CancelRequested,
        TimeShort,
        DeadlinePassed,
    ]
    return data.draw(st.sampled_from([makes[0]] * 3 + makes), "event")()


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_sequence_of_events_keeps_the_transcript_whole_and_ends_once(data: st.DataObject) -> None:
    limits: dict[str, Any] = data.draw(LIMITS, "limits")
    story = Story(queued(**limits))
    for _ in range(data.draw(st.integers(0, 25), "length")):
        story.happen(draw_event(data, story))
    story.happen(CancelRequested())
    for _ in range(3):
        story.happen(draw_event(data, story))
    ended = story.now
    assert ended.terminal
    assert transcript_problem(ended.messages) is None
    assert sum(isinstance(effect, Finish) for effect in story.effects) == 1
    called = [one.id for message in ended.messages for one in message.tool_calls or ()]
    answered = [message.tool_call_id for message in ended.messages if message.role == "tool"]
    assert Counter(called) == Counter(answered) == Counter(run.tool_call_id for run in ended.runs)
    assert all(run.status for run in ended.runs)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_stream_tells_every_message_and_one_ending(data: st.DataObject) -> None:
    story = Story(queued())
    opening = story.now.messages
    for _ in range(data.draw(st.integers(0, 25), "length")):
        story.happen(draw_event(data, story))
    told = tuple(Message.model_validate_json(text) for kind, text in story.told if kind == "message")
    assert opening + told == story.now.messages
    assert [kind for kind, _ in story.told].count("ended") == story.now.terminal
    if story.now.terminal:
        assert story.told[-1][0] == "ended"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_conversation_survives_being_stored_at_any_moment(data: st.DataObject) -> None:
    story = Story(queued())
    for _ in range(data.draw(st.integers(0, 15), "length")):
        story.happen(draw_event(data, story))
        assert Conversation.model_validate_json(story.now.model_dump_json()) == story.now
