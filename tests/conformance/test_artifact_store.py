"""One artifact store, whatever it lies in."""

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import fsspec
import pytest

from skillfleet.conversations.limits import Limits
from skillfleet_workers.wire import store as stores
from skillfleet_workers.wire.connection import FleetSettings
from skillfleet_workers.wire.store import ArtifactStore, FileTooLargeError, StoreError
from skillfleet_workers.wire.store_places import YOUNG_S

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
DAY_S = 86_400.0


def store_at(url: str, state: Path) -> ArtifactStore:
    return ArtifactStore.of(FleetSettings(artifacts_url=url, state_dir=state))


class Kept:
    """A store, and its blobs from outside."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self.store = store_at(url, folder)
        place = url or f"file://{folder}/artifacts/store"
        self._files: Any
        self._files, self._root = fsspec.core.url_to_fs(place)

    def names(self) -> set[str]:
        return {path.removeprefix(f"{self._root}/") for path in self._files.find(self._root)} - {"pruned"}

    def spoil(self, name: str) -> None:
        self._files.rm(f"{self._root}/{name}")
        self._files.pipe(f"{self._root}/{name}", b"something else")

    def age(self, name: str, seconds: float) -> None:
        path = f"{self._root}/{name}"
        if isinstance(self._files, fsspec.implementations.local.LocalFileSystem):
            os.utime(path, (time.time() - seconds,) * 2)
        else:
            blob: Any = self._files.store[path]
            blob.modified -= timedelta(seconds=seconds)


@pytest.fixture(params=["folder", "file", "memory"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    urls = {"folder": "", "file": f"file://{tmp_path}/elsewhere", "memory": f"memory://{uuid.uuid4().hex}"}
    yield Kept(urls[request.param], tmp_path)


def most(metadata: list[Any]) -> float:
    (bound,) = [one.le for one in metadata if hasattr(one, "le")]
    return float(bound)


def blob(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"sha256/{digest[:2]}/{digest}"


class TestWhatGoesIn:
    def test_comes_out_by_its_digest(self, kept: Kept) -> None:
        source = kept.folder / "in.png"
        source.write_bytes(PNG)
        stored = kept.store.put(source, "charts/one.png")
        assert stored.model_dump() == {
            "name": "charts/one.png", "digest": hashlib.sha256(PNG).hexdigest(), "bytes": len(PNG),
            "media_type": "image/png",
        }  # fmt: skip
        assert kept.store.read(stored.digest) == PNG
        assert kept.store.fetch(stored.digest, kept.folder / "out.png")
        assert (kept.folder / "out.png").read_bytes() == PNG
        assert kept.names() == {blob(PNG)}

    def test_is_kept_once_however_many_bring_it(self, kept: Kept) -> None:
        with ThreadPoolExecutor(4) as pool:
            stored = list(pool.map(lambda name: kept.store.put_bytes(b"same", name), "abcdefgh"))
        assert len({one.digest for one in stored}) == 1
        assert kept.names() == {blob(b"same")}

    def test_is_adopted_as_well(self, kept: Kept) -> None:
        source = kept.folder / "in"
        source.write_bytes(b"of a run")
        stored = kept.store.adopt(source, "in")
        assert source.read_bytes() == kept.store.read(stored.digest) == b"of a run"

    def test_is_refused_where_it_is_too_large(self, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stores, "MAX_BYTES", 10)
        (kept.folder / "in").write_bytes(bytes(11))
        with pytest.raises(FileTooLargeError, match=r"^big: has more than"):
            kept.store.put(kept.folder / "in", "big")
        with pytest.raises(FileTooLargeError):
            kept.store.adopt(kept.folder / "in", "big")
        assert kept.names() == set()


class TestWhatComesOut:
    @pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "a" * 64 + "\n", "a" * 63, "a" * 64])
    def test_is_nothing_where_there_is_none(self, kept: Kept, digest: str) -> None:
        assert kept.store.read(digest) is None
        assert not kept.store.fetch(digest, kept.folder / "out")
        assert not kept.store.share(digest, kept.folder / "out")
        assert list(kept.folder.glob("*out*")) == []

    def test_is_nothing_where_it_is_not_what_went_in(self, kept: Kept) -> None:
        digest = kept.store.put_bytes(b"right", "a").digest
        kept.spoil(blob(b"right"))
        assert kept.store.read(digest) is None
        assert not kept.store.fetch(digest, kept.folder / "out")
        assert not kept.store.share(digest, kept.folder / "out")
        assert not (kept.folder / "out").exists()

    def test_is_no_more_than_is_asked_for(self, kept: Kept) -> None:
        digest = kept.store.put_bytes(bytes(100), "a").digest
        assert kept.store.read(digest, 99) is None
        assert kept.store.read(digest, 100) == bytes(100)

    def test_changes_nothing_in_the_store(self, kept: Kept) -> None:
        digest = kept.store.put_bytes(b"mine", "a").digest
        assert kept.store.fetch(digest, kept.folder / "out")
        with (kept.folder / "out").open("ab") as file:
            file.write(b" and yours")
        assert kept.store.read(digest) == b"mine"


class TestWhatNobodyUses:
    @pytest.mark.parametrize("use", ["put", "read", "fetch", "share", "nothing"])
    def test_goes_and_what_was_used_stays(self, kept: Kept, use: str) -> None:
        stored = kept.store.put_bytes(b"old", "a")
        kept.age(blob(b"old"), 3 * DAY_S)
        uses: dict[str, Callable[[], object]] = {
            "put": lambda: kept.store.put_bytes(b"old", "b"),
            "read": lambda: kept.store.read(stored.digest),
            "fetch": lambda: kept.store.fetch(stored.digest, kept.folder / "out"),
            "share": lambda: kept.store.share(stored.digest, kept.folder / "out"),
            "nothing": lambda: None,
        }
        uses[use]()
        assert kept.store.prune(2 * DAY_S) == (use == "nothing")
        assert kept.names() == (set() if use == "nothing" else {blob(b"old")})

    def test_stays_as_long_as_a_conversation_may_not_have_used_it(self) -> None:
        longest = {name: most(Limits.model_fields[name].metadata) for name in ("timeout_s", "wait_s")}
        assert sum(longest.values()) + YOUNG_S <= stores.UNUSED_S

    def test_drafts_of_the_dead_go(self, kept: Kept) -> None:
        kept.store.put_bytes(b"a", "a")
        kept._files.pipe(f"{kept._root}/draft-1", b"")
        kept._files.pipe(f"{kept._root}/draft-2", b"")
        kept.age("draft-1", 2 * DAY_S)
        kept.store.prune(100 * DAY_S)
        assert kept.names() == {blob(b"a"), "draft-2"}

    def test_goes_alone_where_others_have_files_beside_it(self, kept: Kept) -> None:
        kept.store.put_bytes(b"a", "a")
        theirs = {"sha256/ab/theirs", "report.csv", "folder/draft-1"}
        for name in theirs:
            kept._files.makedirs(f"{kept._root}/{name}".rpartition("/")[0], exist_ok=True)
            kept._files.pipe(f"{kept._root}/{name}", b"")
            kept.age(name, 100 * DAY_S)
        assert kept.store.prune(-DAY_S) == 1
        assert kept.names() == theirs


class TestFolder:
    def test_is_closed_to_others_and_its_files_are_read_only(self, tmp_path: Path) -> None:
        stored = store_at("", tmp_path).put_bytes(b"a", "a")
        path = tmp_path / "artifacts/store" / blob(b"a")
        assert path.name == stored.digest
        assert [one.stat().st_mode & 0o777 for one in (path, path.parent, tmp_path / "artifacts/store")] == [
            0o444, 0o700, 0o700,
        ]  # fmt: skip

    def test_keeps_no_second_copy_of_what_a_run_has_brought(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_bytes(b"a")
        digest = store_at("", tmp_path).adopt(tmp_path / "in", "in").digest
        assert store_at("", tmp_path).share(digest, tmp_path / "out")
        assert (tmp_path / "in").stat().st_ino == (tmp_path / "out").stat().st_ino


class TestWhatCannotBeUsed:
    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("nosuch://a:secret@b", "no such protocol|Protocol not known: nosuch"),
            ("gs://bucket", "needs a package that is not installed"),
            ("file://", "is empty"),
        ],
    )
    def test_is_told_with_its_fix(self, tmp_path: Path, url: str, told: str) -> None:
        with pytest.raises(StoreError, match=rf"^SKILLFLEET_ARTIFACTS_URL: .*({told})") as wrong:
            store_at(url, tmp_path)
        assert "secret" not in str(wrong.value)

    def test_is_told_when_it_is_tried(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        broken = store_at(f"{tmp_path}/file", tmp_path)
        with pytest.raises(StoreError, match=re.escape(f"{tmp_path}/file cannot be used")):
            broken.check()
        store_at("", tmp_path).check()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://user:SECRET@127.0.0.1:1/x",
        "bogus://user:p@SECRET@host/x",
        "bogus://user:p/SECRET@host/x",
        "bogus://host/x?sig=SECRET",
    ],
)
def test_a_store_that_cannot_be_opened_is_told_without_a_secret(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="SKILLFLEET_ARTIFACTS_URL") as told:
        store_at(url, tmp_path)
    assert "SECRET" not in str(told.value)
