"""Saving what scripts brought: below the folder, through no link, over no other file."""

import hashlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillfleet.conversations.report import ArtifactReport
from skillfleet.errors import BadRequestError
from skillfleet.saving import Outcome, save
from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.store import ArtifactStore

CONTENT = b"a chart"


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore.of(OrchestratorSettings(state_dir=tmp_path / "state"))


def brought(store: ArtifactStore, path: str, content: bytes = CONTENT, call: str = "1.0") -> ArtifactReport:
    kept = store.put_bytes(content, "x")
    return ArtifactReport(call=call, path=path, bytes=kept.bytes, media_type=kept.media_type, digest=kept.digest)


def outcomes(store: ArtifactStore, folder: Path, *found: ArtifactReport) -> list[Outcome]:
    return [one.outcome for one in save(store, found, folder)]


def everything_in(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_symlink() or not one.is_dir())


def test_files_lie_under_their_calls_as_their_scripts_had_them(tmp_path: Path, store: ArtifactStore) -> None:
    folder = tmp_path / "new/folder"
    found = (
        brought(store, "chart.png"), brought(store, "deep/er/é.txt", b""), brought(store, "chart.png", b"2", "2.0")
    )  # fmt: skip
    saved = list(save(store, found, folder))
    assert [(one.outcome, one.path) for one in saved] == [
        ("written", folder / "1.0/chart.png"),
        ("written", folder / "1.0/deep/er/é.txt"),
        ("written", folder / "2.0/chart.png"),
    ]
    assert [one.path.read_bytes() for one in saved] == [CONTENT, b"", b"2"]
    saved[0].path.write_bytes(CONTENT)  # they are the person's own now, and the store's stay as they are
    assert store.read(found[0].digest) == CONTENT


def test_a_second_time_writes_nothing_and_what_differs_stays(tmp_path: Path, store: ArtifactStore) -> None:
    found = (brought(store, "a"), brought(store, "b"))
    assert outcomes(store, tmp_path / "to", *found) == ["written", "written"]
    (tmp_path / "to/1.0/b").write_text("mine")
    before = (tmp_path / "to/1.0/a").stat().st_mtime_ns
    assert outcomes(store, tmp_path / "to", *found) == ["same", "differs"]
    assert (tmp_path / "to/1.0/b").read_text() == "mine"
    assert (tmp_path / "to/1.0/a").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "path",
    ["../out", "a/../../out", "/etc/out", "..", ".", "", "a//b", "a/", "a/./b", "nul\0", "half\udcff"],
)
def test_a_path_that_leads_astray_is_refused(tmp_path: Path, store: ArtifactStore, path: str) -> None:
    assert outcomes(store, tmp_path / "to", brought(store, path)) == ["refused"]
    assert outcomes(store, tmp_path / "to", brought(store, "x", call=path)) == ["refused"]
    assert everything_in(tmp_path / "to") == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", ["link/x", "file/x", "to-file", "to-nowhere", "pipe", "x" * 300])
def test_nothing_is_written_through_what_lies_in_its_place(tmp_path: Path, store: ArtifactStore, path: str) -> None:
    (tmp_path / "outside").mkdir()
    call = tmp_path / "to/1.0"
    call.mkdir(parents=True)
    (call / "link").symlink_to(tmp_path / "outside")
    (call / "file").touch()
    (call / "to-file").symlink_to(tmp_path / "target")
    (call / "to-nowhere").symlink_to(tmp_path / "outside/new")
    (tmp_path / "target").write_bytes(CONTENT)
    os.mkfifo(call / "pipe")
    before = everything_in(tmp_path / "to")
    (one,) = save(store, [brought(store, path, b"" if path == "pipe" else CONTENT)], tmp_path / "to")
    assert (one.there, bool(one.why)) == (False, True)
    assert everything_in(tmp_path / "to") == before
    assert everything_in(tmp_path / "outside") == []


def test_the_folder_itself_may_be_a_link_for_the_person_named_it(tmp_path: Path, store: ArtifactStore) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "to").symlink_to(tmp_path / "real")
    assert outcomes(store, tmp_path / "to", brought(store, "a")) == ["written"]
    assert everything_in(tmp_path / "real") == ["1.0/a"]


def test_a_folder_that_can_t_be_made_is_one_line(tmp_path: Path, store: ArtifactStore) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadRequestError, match=r"--save: .*file"):
        outcomes(store, tmp_path / "file", brought(store, "a"))


def test_what_the_store_does_not_have_is_named_and_the_rest_is_saved(tmp_path: Path, store: ArtifactStore) -> None:
    gone = brought(store, "a").model_copy(update={"digest": hashlib.sha256(b"never").hexdigest()})
    not_stored = brought(store, "b").model_copy(update={"digest": ""})
    assert outcomes(store, tmp_path / "to", gone, not_stored, brought(store, "c")) == ["gone", "gone", "written"]
    assert everything_in(tmp_path / "to") == ["1.0/c"]


@pytest.fixture
def short_files() -> Iterator[None]:
    """A disk that takes 100 bytes of a file and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_can_t_be_written_whole_is_not_left_in_part(
    tmp_path: Path, store: ArtifactStore, request: pytest.FixtureRequest
) -> None:
    found = brought(store, "a", bytes(1000))
    request.getfixturevalue("short_files")
    (one,) = save(store, [found], tmp_path / "to")
    assert (one.outcome, one.why) == ("refused", "File too large")
    assert everything_in(tmp_path / "to") == []
