"""Files that people hand in: checked before anything is stored, told apart, told to the model."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.conversation_steps import after, awaiting_model, says
from tests.pictures import png

from skillfleet.batch import read_batch
from skillfleet.conversations.descent import continued
from skillfleet.conversations.models import ConversationSpec
from skillfleet.errors import BadRequestError
from skillfleet.handed import MAX_IMAGES, HandedFile, read_handed, together
from skillfleet.handing_in import hand_in
from skillfleet.llm.prompts import FILES_PROMPT
from skillfleet.settings import OrchestratorSettings
from skillfleet.submission import Submission
from skillfleet_workers.wire.files import MAX_IMAGE_BYTES, MAX_INPUT_BYTES, MAX_INPUT_FILES
from skillfleet_workers.wire.store import ArtifactStore, StoreError

PICTURE = png()


def submitted(**given: Any) -> Submission:
    return Submission.of(read_handed({"prompt": "Look.", **given}))


def going_on(**given: Any) -> ConversationSpec:
    """From a conversation that was handed `a.txt`."""
    first = submitted(files=[("a.txt", b"one")]).spec()
    begun = awaiting_model()
    ended = after(begun.model_copy(update={"spec": begun.spec.model_copy(update={"files": first.files})}), says("42"))
    found = continued(ended, "c2", "And now?")
    assert isinstance(found, ConversationSpec)
    return Submission.of(read_handed({"prompt": "And now?", **given})).onto(found)


def test_the_model_is_shown_images_and_told_of_all_files_and_scripts_get_all(tmp_path: Path) -> None:
    (tmp_path / "chart.png").write_bytes(PICTURE)
    (tmp_path / "data.csv").write_text("a,b\n")
    spec = submitted(images=[tmp_path / "chart.png"], files=[tmp_path / "data.csv", ("x.bin", b"\0")]).spec()
    assert [(one.name, one.bytes, one.media_type) for one in spec.files] == [
        ("chart.png", len(PICTURE), "image/png"), ("data.csv", 4, "text/csv"),
        ("x.bin", 1, "application/octet-stream"),
    ]  # fmt: skip
    system, user = spec.opening
    assert (system.content or "").endswith(FILES_PROMPT)
    assert [one.name for one in user.attachments or ()] == ["chart.png"]
    assert (user.content or "").startswith("Look.\n\n[")
    for one in spec.files:
        assert f"- {one.name} ({one.media_type}, {one.bytes} bytes)" in (user.content or "")


def test_without_files_nothing_is_told_of_them() -> None:
    system, user = submitted().spec().opening
    assert FILES_PROMPT not in (system.content or "")
    assert (user.content, user.attachments) == ("Look.", None)


def test_files_of_one_name_are_told_apart_and_the_same_file_comes_once() -> None:
    images = [("a.png", PICTURE), ("a.png", png(grey=1)), ("a.png", PICTURE)]
    spec = submitted(images=images, files=[("a.png", png(grey=1)), ("a.png", b"2"), ("a", b"3"), ("a", b"4")]).spec()
    assert [one.name for one in spec.files] == ["a.png", "a-2.png", "a-3.png", "a", "a-2"]
    assert len({one.digest for one in spec.files}) == 5
    assert [one.name for one in spec.opening[1].attachments or ()] == ["a.png", "a-2.png"]


def test_who_goes_on_has_the_files_of_before_and_the_new_ones() -> None:
    spec = going_on(images=[("b.png", PICTURE)], files=[("a.txt", b"two")])
    assert [one.name for one in spec.files] == ["a.txt", "b.png", "a-2.txt"]
    asked = spec.opening[-1]
    assert [one.name for one in asked.attachments or ()] == ["b.png"]
    assert "- a-2.txt" in (asked.content or "") and "- a.txt" not in (asked.content or "")


def test_who_goes_on_without_new_files_keeps_those_of_before() -> None:
    spec = going_on()
    assert [one.name for one in spec.files] == ["a.txt"]
    assert spec.opening[-1].content == "And now?"


def many(count: int) -> list[tuple[str, bytes]]:
    return [(f"{n}.txt", b"%d" % n) for n in range(count)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"files": ["absent.csv"]}, "--file: absent.csv: No such file", id="missing"),
        pytest.param({"files": ["folder"]}, "--file: folder: is not a regular file", id="folder"),
        pytest.param({"files": ["/dev/null"]}, "--file: /dev/null: is not a regular file", id="device"),
        pytest.param({"files": ["pipe"]}, "--file: pipe: is not a regular file", id="pipe"),
        pytest.param({"files": ["closed/x"]}, "--file: closed/x: Not a directory", id="below a file"),
        pytest.param({"files": ["a\0b"]}, "is no name of a file", id="no path"),
        pytest.param({"files": ["big"]}, "--file: big: is more than 100 MB", id="too big"),
        pytest.param({"files": many(MAX_INPUT_FILES + 1)}, f"at most {MAX_INPUT_FILES} files", id="too many"),
        pytest.param({"files": ["half", ("x", bytes(MAX_INPUT_BYTES // 2 + 1))]}, "100 MB", id="too big together"),
        pytest.param({"files": [("../up", b"")]}, "'../up': is no name", id="a way out"),
        pytest.param({"files": [("..", b"")]}, "'..': is no name", id="the folder above"),
        pytest.param({"files": [("", b"")]}, "is no name", id="no name"),
        pytest.param({"files": [("a\nb", b"")]}, "is no name", id="two lines"),
        pytest.param({"files": [("\x1b[2J", b"")]}, "is no name", id="a terminal's command"),
        pytest.param({"files": [("\udcff", b"")]}, "is no name", id="no text"),
        pytest.param({"files": [("x" * 201, b"")]}, "is no name", id="too long"),
        pytest.param({"files": "data.csv"}, "--file needs a list", id="no list"),
        pytest.param({"files": [7]}, "--file needs files, not int", id="no file"),
        pytest.param({"images": [("x.png", b"text")]}, "x.png: is no image that models take", id="no image"),
        pytest.param({"images": [("x.svg", b"<svg/>")]}, "(PNG, JPEG, GIF, WEBP)", id="no such image"),
        pytest.param({"images": [("x.png", b"")]}, "is no image", id="empty image"),
        pytest.param(
            {"images": [("x.png", PICTURE + bytes(MAX_IMAGE_BYTES))]}, f"at most {MAX_IMAGE_BYTES}", id="big image"
        ),
        pytest.param(
            {"images": [("x.png", png(grey=n) + bytes(4_500_000)) for n in range(4)]}, "16 MB together", id="much"
        ),
        pytest.param(
            {"images": [("x.png", png(grey=n)) for n in range(MAX_IMAGES + 1)]}, "at most 20 images", id="images"
        ),
    ],
)
def test_what_can_t_be_taken_is_told_by_option_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "closed").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, size in (("big", MAX_INPUT_BYTES + 1), ("half", MAX_INPUT_BYTES // 2)):
        with (tmp_path / name).open("wb") as sparse:
            sparse.truncate(size)
    with pytest.raises(BadRequestError) as wrong:
        submitted(**given)
    assert told in str(wrong.value)
    assert len(str(wrong.value).splitlines()) == 1


def test_an_image_is_known_by_its_content_and_not_by_its_name() -> None:
    (image,) = submitted(images=[("chart.dat", PICTURE)]).images
    assert image.about.media_type == "image/png"
    (text,) = submitted(files=[("chart.png", b"text")]).files
    assert not text.about.is_image


def test_an_old_conversation_s_files_count_too() -> None:
    kept = together([], read_handed({"files": many(MAX_INPUT_FILES)})["files"]).all
    with pytest.raises(BadRequestError, match=f"not {MAX_INPUT_FILES + 1}"):
        together([], read_handed({"files": [("new", b"new")]})["files"], kept)


def test_a_line_of_a_batch_names_files_from_the_batch_s_folder_and_they_make_its_key(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    data, batch = tmp_path / "in/data.csv", tmp_path / "in/batch.jsonl"
    lines = [{"prompt": "a", "files": ["data.csv"]}, {"prompt": "a", "images": [str(tmp_path / "x.png")]}]
    batch.write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "x.png").write_bytes(PICTURE)
    data.write_text("1")
    first = [one.idempotency_key for one in read_batch(batch)]
    assert [[file.about.name for file in one.handed] for one in read_batch(batch)] == [["data.csv"], ["x.png"]]
    assert [one.idempotency_key for one in read_batch(batch)] == first
    data.write_text("22")
    changed = [one.idempotency_key for one in read_batch(batch)]
    assert (changed[0] != first[0], changed[1]) == (True, first[1])


def test_files_of_the_options_hold_for_the_lines_that_name_none(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("own")
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"prompt": "a"}\n{"prompt": "b", "files": ["own.txt"]}\n')
    found = read_batch(batch, {"files": [("all.txt", b"all")]})
    assert [[file.about.name for file in one.handed] for one in found] == [["all.txt"], ["own.txt"]]


def test_a_bad_file_is_told_by_the_line_of_the_batch(tmp_path: Path) -> None:
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"prompt": "a"}\n{"prompt": "b", "files": ["absent"]}\n')
    with pytest.raises(BadRequestError, match=r"line 2: --file: absent: No such file"):
        read_batch(batch)


def test_what_is_handed_in_is_in_the_store_and_the_file_is_as_it_was(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("1")
    mode = data.stat().st_mode
    settings = OrchestratorSettings(state_dir=tmp_path / "state")
    store = ArtifactStore.of(settings)
    handed = submitted(files=[data, ("x.txt", b"x")]).handed
    hand_in(settings, handed)
    data.write_text("2")
    assert [store.read(one.about.digest) for one in handed] == [b"1", b"x"]
    assert data.stat().st_mode == mode


def test_a_file_that_changes_between_is_not_handed_in(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("1")
    (handed,) = submitted(files=[data]).handed
    settings = OrchestratorSettings(state_dir=tmp_path / "state")
    data.write_text("other")
    with pytest.raises(BadRequestError, match=r"data.csv: was changed"):
        hand_in(settings, [handed])
    data.unlink()
    with pytest.raises(BadRequestError, match=r"data.csv: No such file"):
        hand_in(settings, [HandedFile(handed.about, data)])


def test_a_store_that_can_t_be_used_is_no_matter_where_there_are_no_files() -> None:
    settings = OrchestratorSettings(artifacts_url="nowhere://x")
    hand_in(settings, [])
    with pytest.raises(StoreError, match="SKILLFLEET_ARTIFACTS_URL"):
        hand_in(settings, submitted(files=[("a", b"a")]).handed)
