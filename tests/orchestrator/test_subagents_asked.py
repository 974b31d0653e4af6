"""Subagents, as a submission asks for them."""

import pytest
from tests.conversation_steps import after, awaiting_model, says

from skillfleet.conversations.descent import continued
from skillfleet.conversations.models import ConversationSpec
from skillfleet.errors import BadRequestError
from skillfleet.submission import Submission


@pytest.mark.parametrize("number", [0, 1, 100])
def test_as_many_are_open_at_once_as_is_said(number: int) -> None:
    asked = Submission.of({"prompt": "Go.", "subagents": True, "max_children": number})
    assert asked.spec().limits.max_children == number


@pytest.mark.parametrize("number", [-1, 101])
def test_a_number_out_of_range_is_refused_with_the_option(number: int) -> None:
    with pytest.raises(BadRequestError) as refused:
        Submission.of({"prompt": "Go.", "max_children": number})
    assert str(refused.value).startswith("--max-children: Input should be")


def test_what_is_continued_keeps_whether_it_may_have_some() -> None:
    parent = awaiting_model()
    spec = Submission.of({"prompt": "Go.", "subagents": True, "max_children": 3}).spec()
    ended = after(parent.model_copy(update={"spec": spec}), says("42"))
    found = continued(ended, "child", "And now?")
    assert isinstance(found, ConversationSpec)
    kept = Submission.of({"prompt": "And now?"}).onto(found)
    assert (kept.subagents, kept.tools, kept.limits.max_children) == (True, spec.tools, 3)
    assert Submission.of({"prompt": "And now?", "max_children": 5}).onto(found).limits.max_children == 5
    with pytest.raises(BadRequestError) as refused:
        Submission.of({"prompt": "And now?", "subagents": True}).onto(found)
    assert "--subagents" in str(refused.value)
