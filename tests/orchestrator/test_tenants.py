"""For whom a conversation is, and how urgent: as it is asked for, and as its children have it."""

from typing import Any

import pytest
from tests.conversation_steps import after, awaiting_model, says

from skillfleet.conversations.descent import continued
from skillfleet.conversations.models import ConversationSpec
from skillfleet.errors import BadRequestError
from skillfleet.submission import Submission


def child(**asked: Any) -> ConversationSpec:
    parent = awaiting_model()
    spec = parent.spec.model_copy(update={"tenant": "ann", "priority": 2})
    found = continued(after(parent.model_copy(update={"spec": spec}), says("42")), "child", "And now?")
    assert isinstance(found, ConversationSpec)
    return Submission.of({"prompt": "And now?", **asked}).onto(found)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"priority": 0}, "--priority: Input should be greater than or equal to 1"),
        ({"priority": 11}, "--priority: Input should be less than or equal to 10"),
        ({"priority": "1"}, "--priority: Input should be a valid integer"),
        ({"tenant": ""}, "--tenant needs 1 to 64 letters"),
        ({"tenant": "a:b"}, "--tenant needs 1 to 64 letters"),
        ({"tenant": "x" * 65}, "--tenant needs 1 to 64 letters"),
        ({"tenant": "a\n"}, "--tenant needs 1 to 64 letters"),
    ],
)
def test_what_is_no_tenant_or_priority_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        Submission.of({"prompt": "Go.", **given})
    assert str(refused.value).startswith(told)


def test_where_nothing_is_said_it_is_the_default_ones_in_the_middle() -> None:
    spec = Submission.of({"prompt": "Go."}).spec()
    assert (spec.tenant, spec.priority) == ("default", 5)


def test_a_child_has_its_parents_unless_it_is_given_its_own() -> None:
    assert (child().tenant, child().priority) == ("ann", 2)
    given = child(tenant="bob", priority=9)
    assert (given.tenant, given.priority) == ("bob", 9)
