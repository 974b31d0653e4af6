"""Skills that a conversation activates: which governs, for how long, and what is kept of them."""

import json

import pytest
from tests.conversation_steps import NOW, after, asks, awaiting_model, call, finished, list_skills, queued, says
from tests.skill_snapshots import activated, governing, published, snapshot, under

from skillfleet.conversations.activations import first_used
from skillfleet.conversations.descent import continued, forked, retried
from skillfleet.conversations.engine import step
from skillfleet.conversations.limits import Problem
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import (
    CallModel,
    CancelRequested,
    Event,
    ModelFailed,
    ModelReplied,
    RunTool,
    Submitted,
    ToolFinished,
    ToolUnstarted,
)
from skillfleet.conversations.report import report
from skillfleet.conversations.stored import closed_runs, state_json
from skillfleet_workers.wire.contract import UsedSkill
from skillfleet_workers.wire.published import Snapshot

BROKEN = ModelFailed(Problem(code="model_unavailable", message="It is down."))
PDF = UsedSkill(name="pdf", version="1.0.0", digest="d1")


def use(skill: str, call_id: str = "s", **given: str) -> ModelReplied:
    return asks(call("skill", call_id, json.dumps({"name": skill, **given})))


def seen(event: ModelReplied, skills: Snapshot) -> ModelReplied:
    return ModelReplied(event.message, event.usage, skills)


def who(conversation: Conversation) -> str | None:
    return conversation.governing.skill if conversation.governing else None


def states(conversation: Conversation) -> list[tuple[str, int, bool]]:
    return [(one.governing.skill, one.turn, one.governs) for one in conversation.activated]


def begun(found: ConversationSpec | Problem) -> Conversation:
    assert isinstance(found, ConversationSpec), found
    return Conversation.begun(found)


def two_skills() -> Conversation:
    return after(under("pdf"), use("lab"), activated("2.0", "lab"))


def test_a_skill_governs_from_the_end_of_the_turn_that_activated_it() -> None:
    asked = after(awaiting_model(), asks(call("skill", "s", name="pdf"), list_skills("b")))
    half = after(asked, activated("1.0", "pdf"))
    assert who(half) is None
    assert who(after(half, finished("1.1"))) == "pdf"


def test_the_last_activation_governs_whichever_came_in_last() -> None:
    asked = after(awaiting_model(), asks(call("skill", "a", name="pdf"), call("skill", "b", name="lab")))
    done = after(asked, activated("1.1", "lab"), activated("1.0", "pdf"))
    assert states(done) == [("pdf", 1, False), ("lab", 1, True)]
    assert states(after(done, use("web"), activated("3.0", "web"))) == states(done)
    assert states(after(done, use("web"), activated("2.0", "web"))) == [
        ("pdf", 1, False), ("lab", 1, False), ("web", 2, True),
    ]  # fmt: skip


def test_no_skill_governs_after_the_answer() -> None:
    ended = after(under("pdf"), says("Done."))
    assert (who(ended), states(ended)) == (None, [("pdf", 1, False)])


def test_an_activation_that_failed_changes_nothing() -> None:
    failed = ToolFinished("2.0", "tool_error", '{"error": "unknown_skill"}', "w1")
    assert states(after(under("pdf"), use("lab"), failed)) == [("pdf", 1, True)]


def test_a_skill_that_a_child_works_on_does_not_govern_its_parent() -> None:
    assert states(after(under("pdf"), use("lab"), activated("2.0", "lab", fork=True))) == [("pdf", 1, True)]


def test_a_call_is_sent_under_the_same_skill_however_often() -> None:
    run = asks(call("run_python_script", "x", skill_name="pdf", script="1"), call("skill", "s", name="lab"))
    sent, effects = step(under("pdf"), run, NOW)
    assert who(sent) == "pdf" and [type(effect) for effect in effects] == [RunTool, RunTool]
    again, (effect,) = step(after(sent, activated("2.1", "lab")), ToolUnstarted("2.0"), NOW)
    assert isinstance(effect, RunTool) and who(again) == "pdf"


def test_a_second_activation_is_not_pasted_again_and_governs_again() -> None:
    again, effects = step(two_skills(), use("pdf", arguments="a.pdf"), NOW)
    assert effects == [CallModel()]
    assert (again.messages[-1].role, again.messages[-1].content) == (
        "tool", "The skill pdf is active again; its instructions stand above.\n\nARGUMENTS: a.pdf",
    )  # fmt: skip
    assert states(again) == [("pdf", 1, False), ("lab", 2, False), ("pdf", 3, True)]
    assert (again.runs[-1].status, again.runs[-1].sends, again.runs[-1].skill) == ("succeeded", 0, "pdf")


def test_a_second_activation_without_arguments_tells_of_none() -> None:
    assert "ARGUMENTS" not in (after(two_skills(), use("pdf")).messages[-1].content or "")


@pytest.mark.parametrize(
    ("skills", "asked", "sent"),
    [
        (snapshot("pdf", "lab"), "pdf", False),
        (snapshot("pdf", "lab"), "pdf@1.0.0", False),
        (snapshot("pdf", published("pdf", version="2.0.0")), "pdf", True),
        (snapshot("pdf", published("pdf", version="2.0.0")), "pdf@1.0.0", False),
        (snapshot(published("pdf", digest="another")), "pdf", True),
        (snapshot("lab"), "pdf", False),
        (snapshot("lab"), "pdf@2.0.0", True),
    ],
)
def test_a_skill_that_is_another_by_now_is_activated_by_a_worker(skills: Snapshot, asked: str, sent: bool) -> None:
    _, (effect,) = step(under("pdf"), seen(use(asked), skills), NOW)
    assert isinstance(effect, RunTool) == sent


def test_a_skill_that_went_before_a_continuation_began_is_activated_by_a_worker() -> None:
    child = after(begun(continued(after(under("pdf"), CancelRequested()), "c2", "And now?")), Submitted())
    for skills, sent in [(snapshot("lab"), True), (snapshot("pdf"), False)]:
        _, (effect,) = step(child, seen(use("pdf"), skills), NOW)
        assert isinstance(effect, RunTool) == sent


def test_what_was_activated_is_stored_and_the_calls_do_not_keep_it_twice() -> None:
    kept = under("pdf", allowed_tools=("Read",))
    assert kept.runs[0].governing is None and kept.runs[0].skill == "pdf"
    stored = json.loads(state_json(kept))
    assert stored["activated"][0]["governing"]["allowed_tools"] == ["Read"]
    moved = after(kept, asks(list_skills()))
    assert "governing" not in json.loads(closed_runs(moved)["run:1.0"])
    assert Conversation.model_validate_json(moved.model_dump_json()) == moved


def test_it_keeps_to_the_skills_that_it_began_with() -> None:
    first, later = snapshot("pdf"), snapshot("pdf", "lab")
    running = after(queued(), Submitted(first.id))
    assert running.snapshot == first.id
    assert after(running, seen(asks(list_skills()), first)).snapshot == first.id
    unknown = after(queued(), Submitted())
    assert after(unknown, asks(list_skills())).snapshot == ""
    assert after(unknown, seen(asks(list_skills()), later)).snapshot == later.id


def test_the_skills_that_its_calls_used_are_told_once_each() -> None:
    newer = PDF.model_copy(update={"digest": "d2"})
    calling = after(queued(), Submitted("s1"), asks(list_skills("a"), list_skills("b"), list_skills("c")))
    for index, used in enumerate([PDF, newer, PDF]):
        calling = after(calling, ToolFinished(f"1.{index}", "succeeded", "fine", used=used))
    told = report(calling, NOW).as_json()
    assert told["skills"] == [PDF.model_dump(), newer.model_dump()]
    assert told["snapshot"] == "s1"


@pytest.mark.parametrize(
    ("name", "digest"),
    [("pdf", "d1"), ("pdf@1.0.0", "d1"), ("pdf@1.0", "d1"), ("pdf@2.0.0", "d3"), ("pdf@3.0.0", None), ("lab", None)],
)
def test_the_first_state_that_was_used_of_a_version_is_known(name: str, digest: str | None) -> None:
    states = [("1.0.0", ""), ("1.0.0", "d1"), ("1.0.0", "d2"), ("2.0.0", "d3")]
    used = tuple(UsedSkill(name="pdf", version=version, digest=state) for version, state in states)
    found = first_used(queued().model_copy(update={"used": used}), name)
    assert (found.digest if found else None) == digest


def test_a_continuation_has_the_activated_skills_and_none_governs() -> None:
    child = begun(continued(after(two_skills(), CancelRequested()), "c2", "And now?"))
    assert states(child) == [("pdf", 0, False), ("lab", 0, False)]
    asked, effects = step(after(child, Submitted()), use("pdf"), NOW)
    assert (effects, who(asked)) == ([CallModel()], "pdf")


def test_a_continuation_begins_with_the_skills_of_the_day() -> None:
    parent = after(queued(), Submitted("s1"), says("Done."))
    assert begun(continued(parent, "c2", "And now?")).snapshot == ""


def test_a_retry_is_governed_as_the_last_good_turn_was() -> None:
    assert states(begun(retried(after(two_skills(), BROKEN), "c2"))) == [("pdf", 0, False), ("lab", 0, True)]
    cut = after(two_skills(), asks(call("skill", "w", name="web"), list_skills("b")), activated("3.0", "web"))
    assert states(begun(retried(after(cut, CancelRequested()), "c2"))) == [("pdf", 0, False), ("lab", 0, True)]


@pytest.mark.parametrize(
    ("turn", "kept"),
    [
        (1, [("pdf", 0, True)]),
        (2, [("pdf", 0, False), ("lab", 0, True)]),
        (3, [("pdf", 0, False), ("lab", 0, False)]),
    ],
)
def test_a_fork_is_governed_as_its_turn_was(turn: int, kept: list[tuple[str, int, bool]]) -> None:
    answered = after(two_skills(), says("Done."))
    assert states(begun(forked(answered, "c2", turn, "Instead?"))) == kept


def test_a_fork_before_the_first_activation_of_its_own_is_governed_as_it_began() -> None:
    child = begun(retried(after(two_skills(), BROKEN), "c1"))
    later = after(child, Submitted(), asks(list_skills()), finished("1.0"), use("web"), activated("2.0", "web"))
    assert states(later) == [("pdf", 0, False), ("lab", 0, False), ("web", 2, True)]
    grandchild = begun(forked(after(later, BROKEN), "c3", 1, "Instead?"))
    assert states(grandchild) == [("pdf", 0, False), ("lab", 0, True)]


@pytest.mark.parametrize("ending", [BROKEN, CancelRequested()])
def test_a_childs_own_descendants_answer_to_nobody(ending: Event) -> None:
    spec = queued().spec.model_copy(update={"parent_call": "p.1.0", "depth": 1})
    parent = after(Conversation.begun(spec), Submitted(), ending)
    for found in (continued(parent, "c2", "And now?"), retried(parent, "c3")):
        assert (begun(found).spec.parent_call, begun(found).spec.depth) == ("", 0)


def test_a_skill_chooses_the_model_while_it_governs() -> None:
    own = queued().spec.model_copy(update={"model": "own"})
    asked = after(Conversation.begun(own), Submitted(), use("pdf"))
    governed = after(asked, activated("1.0", "pdf", model="better"))
    assert (asked.model, governed.model) == ("own", "better")
    assert after(governed, use("lab"), activated("2.0", "lab")).model == "own"
    assert after(governed, use("lab"), activated("2.0", "lab", model="inherit")).model == "own"
    assert after(governed, use("lab"), activated("2.0", "lab", model="haiku")).model == "own"


def test_a_written_model_is_not_switched() -> None:
    replies = {"replies": [{"text": "42"}]}
    spec = queued().spec.model_copy(update={"model": "scripted:x", "script": replies})
    kept = after(Conversation.begun(spec), Submitted(), use("pdf"), activated("1.0", "pdf", model="better"))
    assert kept.governing == governing("pdf", model="better")
    assert kept.model == "scripted:x"
