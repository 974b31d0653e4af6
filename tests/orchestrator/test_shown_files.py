"""Images that models are shown: which, from where, and what happens where they are gone."""

import logging
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conversation_steps import NOW, after, asks, awaiting_calls, awaiting_model, finished, run_python, says
from tests.forked_skills import CONTENT, RESEARCH, activate
from tests.pictures import png

from skillfleet.conversations.asking import Asking
from skillfleet.conversations.engine import step
from skillfleet.conversations.messages import Message
from skillfleet.conversations.models import Conversation, ConversationSpec
from skillfleet.conversations.moves import ChildFinished, StartChild, ToolFinished
from skillfleet.conversations.report import artifacts_of, report
from skillfleet.conversations.runs import SHOWN_IMAGES
from skillfleet.handed import read_handed
from skillfleet.llm.base import Hear, LanguageModel, ModelReply, ModelRequest, deaf
from skillfleet.settings import OrchestratorSettings
from skillfleet.shown_files import ShownFiles
from skillfleet.subagents.fork import outcome
from skillfleet.submission import Submission
from skillfleet_workers.wire.execution import Artifact
from skillfleet_workers.wire.files import MAX_IMAGE_BYTES
from skillfleet_workers.wire.store import ArtifactStore

PICTURE = png()


def artifact(path: str, **more: Any) -> Artifact:
    given = {"path": path, "bytes": 70, "media_type": "image/png", "digest": "d" * 64, "location": "/w/x"}
    return Artifact.model_validate(given | more)


def brought(*artifacts: Artifact) -> Conversation:
    return after(awaiting_calls(run_python()), replace(finished("1.0"), artifacts=artifacts))


def shown(conversation: Conversation) -> list[str]:
    (answer,) = [message for message in conversation.messages if message.role == "tool"]
    return [file.name for file in answer.attachments or ()]


def test_a_call_s_images_stand_in_its_tool_message() -> None:
    found = brought(artifact("a.png"), artifact("b.csv", media_type="text/csv"), artifact("sub/c.png"))
    assert shown(found) == ["a.png", "sub/c.png"]


def test_an_image_that_is_not_in_the_store_or_too_big_is_not_shown() -> None:
    assert shown(brought(artifact("a.png", digest=""), artifact("b.png", bytes=MAX_IMAGE_BYTES + 1))) == []


def test_a_call_that_brings_many_images_shows_the_first_of_them() -> None:
    assert len(shown(brought(*(artifact(f"{n}.png") for n in range(SHOWN_IMAGES + 3))))) == SHOWN_IMAGES


def test_the_report_lists_what_every_call_brought_and_keeps_to_itself_where_it_lies() -> None:
    found = after(
        brought(artifact("a.png")), asks(run_python("b"), run_python("c")), finished("2.0"),
        replace(finished("2.1"), artifacts=(artifact("b.csv", media_type="text/csv", digest=""),)),
    )  # fmt: skip
    told = report(found, NOW).as_json()["artifacts"]
    assert [(one["call"], one["path"], bool(one["digest"])) for one in told] == [
        ("1.0", "a.png", True), ("2.1", "b.csv", False),
    ]  # fmt: skip
    assert set(told[0]) == {"call", "path", "bytes", "media_type", "digest"}


def parent_with_files() -> Conversation:
    handed = read_handed({"prompt": "x", "images": [("see.png", PICTURE)], "files": [("data.csv", b"1")]})
    spec = Submission.of(handed).spec()
    begun = awaiting_model()
    own = begun.spec.model_copy(update={"files": spec.files, "opening": spec.opening})
    return after(begun.model_copy(update={"spec": own}), asks(activate(arguments="bees")))


def child_of(parent: Conversation) -> ConversationSpec:
    _, (start,) = step(parent, ToolFinished("1.0", "succeeded", CONTENT, "w1", governing=RESEARCH), NOW)
    assert isinstance(start, StartChild)
    return start.spec


def test_a_child_has_its_parent_s_files_and_sees_its_images() -> None:
    parent = parent_with_files()
    child = child_of(parent)
    assert child.files == parent.spec.files
    assert "- data.csv" in (child.opening[1].content or "")
    assert [one.name for one in child.opening[1].attachments or ()] == ["see.png"]


def test_what_a_child_s_calls_bring_counts_as_its_call_s() -> None:
    parent = parent_with_files()
    child = Conversation.begun(child_of(parent)).model_copy(update={"status": "running"})
    drawn = (artifact("a.png", digest="1" * 64), artifact("b.csv", media_type="text/csv"))
    child = after(child, asks(run_python()), replace(finished("1.0"), artifacts=drawn))
    child = after(child, asks(run_python()), replace(finished("2.0"), artifacts=(artifact("a.png"),)), says("done"))
    result = outcome(child)
    assert [(one.path, one.digest[0]) for one in result.artifacts] == [("a.png", "d"), ("b.csv", "d")]
    parent = after(parent, ToolFinished("1.0", "succeeded", CONTENT, "w1", governing=RESEARCH))
    parent = after(parent, ChildFinished("1.0", result.status, result.shown, result.artifacts))
    assert [(one.call, one.path) for one in artifacts_of(parent)] == [("1.0", "a.png"), ("1.0", "b.csv")]
    assert shown(parent) == ["a.png"]


class Seeing:
    """Keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    def __call__(self, spec: ConversationSpec) -> LanguageModel:
        return self

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply:
        self.requests.append(request)
        return ModelReply(Message(role="assistant", content="42"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ArtifactStore]:
    yield ArtifactStore.of(OrchestratorSettings(state_dir=tmp_path))


def test_a_model_can_read_the_images_that_it_is_asked_with(store: ArtifactStore) -> None:
    kept = store.put_bytes(PICTURE, "a.png")
    model = Seeing()
    asking = Asking(model, None, lambda: 0.0, file=ShownFiles(store).read)
    asking.ask(brought(artifact("a.png", digest=kept.digest)), NOW)
    (request,) = model.requests
    (attached,) = request.messages[-1].attachments or ()
    assert request.file(attached.digest) == PICTURE


def test_images_are_read_once_as_long_as_there_is_room(store: ArtifactStore, tmp_path: Path) -> None:
    pictures = [png(grey=n) for n in range(3)]
    digests = [store.put_bytes(one, "x").digest for one in pictures]
    held = ShownFiles(store, room_bytes=2 * len(PICTURE) + 10)
    assert [held.read(one) for one in digests] == pictures
    shutil.rmtree(tmp_path)
    assert [held.read(one) for one in digests] == [None, *pictures[1:]]


def test_a_store_that_can_t_be_read_is_a_warning_and_no_image(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    shown_files = ShownFiles(ArtifactStore.of(OrchestratorSettings(artifacts_url=f"file://{tmp_path}/file")))
    with caplog.at_level(logging.WARNING, "skillfleet.shown_files"):
        assert shown_files.read("d" * 64) is None
    assert "an image is not shown to a model" in caplog.text
