"""Which outputs a model is still shown when the transcript nears its window."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation_steps import after, awaiting_model, call, finished, list_skills, make_spec, run_python

from skillfleet.conversations.limits import Usage
from skillfleet.conversations.messages import Message, ToolCall, transcript_problem
from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ModelReplied
from skillfleet.conversations.trimming import (
    HIGH,
    LOW,
    MOST_TRIMS,
    as_shown,
    call_keys,
    has_more,
    trimmed_for,
    trimmed_harder,
)
from skillfleet.tools.definitions import offered
from skillfleet_workers.wire.files import StoredFile

PNG = StoredFile(name="a.png", digest="d", bytes=9, media_type="image/png")
SIZE = 40_000
"""Of one output, characters: some 10 000 tokens."""


def turn(conversation: Conversation, *calls: ToolCall, tokens: int = 0, shown: str = "x" * SIZE) -> Conversation:
    """A turn whose calls have brought that."""
    replied = ModelReplied(Message(role="assistant", tool_calls=calls), Usage(input_tokens=tokens))
    number = conversation.turn + 1
    return after(conversation, replied, *(finished(f"{number}.{index}", shown) for index in range(len(calls))))


def turns(count: int, **more: Any) -> Conversation:
    conversation = awaiting_model(max_turns=1000)
    for number in range(count):
        conversation = turn(conversation, list_skills(f"id-{number}", tags=[str(number)]), **more)
    return conversation


def trimmed(conversation: Conversation, room: int) -> Conversation:
    return conversation.model_copy(update={"trimmed": trimmed_for(conversation, (), "", room)})


def pointers(conversation: Conversation) -> list[str]:
    """The keys of the calls whose output is a pointer."""
    keys = dict(call_keys(conversation))
    shown = as_shown(conversation)
    return [key for at, key in keys.items() if shown[at].content != conversation.messages[at].content]


def test_far_from_the_window_everything_is_shown() -> None:
    conversation = turns(8)
    assert trimmed(conversation, 200_000).trimmed == 0
    assert as_shown(conversation) == conversation.messages
    assert not has_more(conversation)


def test_near_the_window_the_oldest_outputs_become_pointers_down_to_the_low_mark() -> None:
    conversation = trimmed(turns(10), 110_000)
    gone = pointers(conversation)
    assert gone == [f"{number}.0" for number in range(1, len(gone) + 1)] and len(gone) == 4
    pointer = as_shown(conversation)[3].content or ""
    assert "read_output with call='1.0'" in pointer and f"{SIZE} characters" in pointer and "succeeded" in pointer
    assert conversation.messages == turns(10).messages, "the transcript keeps everything"


def test_what_was_trimmed_stays_so_and_no_more_is_until_it_is_near_again() -> None:
    conversation = trimmed(turns(10), 110_000)
    later = turn(conversation, run_python("later"))
    assert trimmed(later, 110_000).trimmed == conversation.trimmed
    assert as_shown(later)[: len(conversation.messages)] == as_shown(conversation), "caches keep their prefix"


def test_the_providers_own_count_of_the_last_request_decides() -> None:
    assert trimmed(turns(4, tokens=90_000), 110_000).trimmed > 0
    assert trimmed(turns(4), 110_000).trimmed == 0
    assert trimmed(turns(10, tokens=20_000), 110_000).trimmed == 0


def test_the_last_two_turns_stay_however_small_the_window() -> None:
    conversation = trimmed(turns(5), 1_000)
    assert pointers(conversation) == ["1.0", "2.0", "3.0"]


def test_instructions_of_skills_and_short_outputs_stay() -> None:
    conversation = awaiting_model()
    conversation = turn(conversation, call("skill", "s", name="pdf"), run_python("r"))
    conversation = turn(conversation, list_skills("l"), shown="[]")
    for number in range(2):
        conversation = turn(conversation, run_python(f"last-{number}"))
    assert pointers(trimmed(conversation, 1_000)) == ["1.1"]


def test_images_go_with_their_output() -> None:
    conversation = turns(4)
    image = conversation.messages[3].model_copy(update={"attachments": (PNG,), "content": "short"})
    messages = (*conversation.messages[:3], image, *conversation.messages[4:])
    shown = as_shown(trimmed(conversation.model_copy(update={"messages": messages}), 1_000))
    assert shown[3].attachments is None
    assert shown[3].content == "short\n[No longer shown here: a.png]"


def test_calls_of_the_conversation_before_have_keys_of_their_own() -> None:
    before = turns(3)
    spec = make_spec(created_at=0.0).model_copy(update={"opening": before.messages})
    conversation = Conversation.begun(spec).model_copy(update={"status": "running"})
    conversation = turn(conversation, run_python("own"))
    assert [key for _, key in call_keys(conversation)] == ["before.1.0", "before.2.0", "before.3.0", "1.0"]
    assert pointers(trimmed(conversation, 1_000)) == ["before.1.0", "before.2.0"]


@pytest.mark.parametrize("calls", [1, 3])
def test_a_provider_that_says_it_is_too_long_is_sent_less_each_time(calls: int) -> None:
    conversation = awaiting_model()
    for number in range(5):
        conversation = turn(
            conversation, *(list_skills(f"id-{number}-{index}", tags=[f"{number}"]) for index in range(calls))
        )
    place, places = trimmed_for(conversation, (), "", 10**6), []
    for times in range(1, MOST_TRIMS + 1):
        harder = trimmed_harder(conversation, (), "", 10**6, times, place)
        assert harder is not None
        place = harder
        places.append(len(pointers(conversation.model_copy(update={"trimmed": place}))))
    assert places == sorted(set(places)) and places[-1] > 4 * calls


def test_where_nothing_more_can_go_it_is_not_asked_again() -> None:
    conversation = awaiting_model()
    assert trimmed_harder(conversation, (), "", 1_000, 1, 0) is None


def test_read_output_is_offered_once_there_is_something_to_read() -> None:
    cut = turns(1, shown="[... 9 characters left out; read_output with call='1.0' brings all ...]")
    for conversation, has in ((turns(5), False), (trimmed(turns(5), 1_000), True), (cut, True)):
        assert ("read_output" in {tool.function.name for tool in offered(conversation)}) == has


SHOWN = st.sampled_from(["", "short", "x" * 1_500, "x" * 60_000])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(SHOWN, min_size=1, max_size=3), min_size=1, max_size=8), st.integers(1_000, 60_000))
def test_whatever_is_trimmed_the_transcript_stays_valid_and_only_ever_shrinks(
    story: list[list[str]], room: int
) -> None:
    conversation, last = awaiting_model(max_turns=1000), 0
    for number, brought in enumerate(story, start=1):
        calls = tuple(run_python(f"id-{number}-{index}") for index in range(len(brought)))
        replied = ModelReplied(Message(role="assistant", tool_calls=calls), trimmed=conversation.trimmed)
        results = (finished(f"{number}.{index}", shown) for index, shown in enumerate(brought))
        conversation = trimmed(after(conversation, replied, *results), room)
        assert conversation.trimmed >= last
        last = conversation.trimmed
        shown = as_shown(conversation)
        assert transcript_problem(shown) is None
        for before, now in zip(conversation.messages, shown, strict=True):
            assert len(now.content or "") <= len(before.content or "")
        kept = [at for at, message in enumerate(shown) if message.role == "assistant"][-2:][0]
        assert shown[kept:] == conversation.messages[kept:]
    assert 0 < LOW < HIGH < 1
