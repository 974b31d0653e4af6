"""The artifact store in a bucket: real s3fs against a server that speaks S3, where both are installed."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from skillfleet_workers.wire.connection import FleetSettings
from skillfleet_workers.wire.store import ArtifactStore, StoreError

pytest.importorskip("s3fs", reason="the extra s3 is not installed")
pytest.importorskip("moto", reason="moto[server] is not installed")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(url, timeout=5):
                break
        yield url
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """As FSSPEC_S3_... of the environment would have it, which is read once."""
    known = {"endpoint_url": endpoint, "key": "a key", "secret": "a secret"}
    monkeypatch.setitem(fsspec.config.conf, "s3", known)
    with contextlib.suppress(FileExistsError):
        fsspec.filesystem("s3").mkdir("files")
    return "s3://files/of/skillfleet"


def test_what_goes_in_comes_out_and_goes_when_nobody_uses_it(bucket: str, tmp_path: Path) -> None:
    store = ArtifactStore.of(FleetSettings(artifacts_url=bucket, state_dir=tmp_path))
    store.check()
    (tmp_path / "in").write_bytes(bytes(6 << 20))
    stored = store.put(tmp_path / "in", "in")
    assert stored == store.put_bytes(bytes(6 << 20), "in") == store.adopt(tmp_path / "in", "in")
    assert store.read(stored.digest) == bytes(6 << 20)
    assert store.share(stored.digest, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == bytes(6 << 20)
    kept = fsspec.filesystem("s3").find(bucket)
    assert sorted(path.rpartition("/")[2] for path in kept if stored.digest in path) == [stored.digest]
    assert len(kept) == 2
    assert store.prune(3600) == 0
    fsspec.filesystem("s3").rm(f"{bucket}/pruned")
    assert store.prune(-1) == 2
    assert store.read(stored.digest) is None


def test_a_server_that_is_not_there_is_told_of(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = {"endpoint_url": "http://127.0.0.1:1", "key": "a key", "secret": "a secret"}
    monkeypatch.setitem(fsspec.config.conf, "s3", nowhere)
    with pytest.raises(StoreError, match=r"the artifact store s3://files/of/skillfleet cannot be used: "):
        ArtifactStore.of(FleetSettings(artifacts_url=bucket, state_dir=tmp_path)).check()
