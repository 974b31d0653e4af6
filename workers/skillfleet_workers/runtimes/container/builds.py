"""The image that a skill's Dockerfile makes: built once for what the skill's folder holds."""

import fcntl
import hashlib
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
from docker.errors import DockerException
from docker.utils.build import exclude_paths, tar
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from .engine import innermost
from .images import Images, NoImageError

DOCKERFILE = "Dockerfile"
IGNORED = (".git", "**/__pycache__")
SKILL_LABEL = "skillfleet.skill"
BUILD_MEMORY = 2 << 30
SHOWN_LINES = 5
FAILURE_REMEMBERED_S = 60.0
LOCK_POLL_S = 0.1
log = logging.getLogger(__name__)

Stamp = tuple[tuple[str, int, int, int], ...]


class Builds:
    """Thread safe, and processes may share `folder`, which has the locks."""

    def __init__(self, client: docker.DockerClient, images: Images, folder: Path, timeout_s: float) -> None:
        self._client, self._images, self._folder, self._timeout_s = client, images, folder, timeout_s
        self._tags: dict[Path, tuple[Stamp, str]] = {}
        self._failed: dict[str, tuple[NoImageError, float]] = {}

    def image_name(self, skill_root: Path, cancelled: threading.Event) -> str:
        """The image of this folder, built if there is none yet.

        Raises:
            NoImageError: the build failed, took too long, or nobody wants it any more.
        """
        stamp = _stamp(skill_root)
        known, tag = self._tags.get(skill_root, (None, ""))
        if known == stamp:
            return tag
        tag = f"skillfleet-skill-{_plain(skill_root.name)}:{_digest(skill_root, stamp)}"
        with self._alone(tag, cancelled):
            failed, until = self._failed.get(tag, (None, 0.0))
            if failed is not None and time.monotonic() < until:
                raise failed
            if not self._images.has(tag):
                self._build(skill_root, tag, stamp, cancelled)
        self._tags[skill_root] = stamp, tag
        return tag

    @contextmanager
    def _alone(self, tag: str, cancelled: threading.Event) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._folder / f"{_plain(tag)}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            while not _locked(lock):
                if cancelled.wait(LOCK_POLL_S):
                    raise NoImageError(f"image {tag} was not waited for: cancelled")
            yield
        finally:
            os.close(lock)

    def _build(self, root: Path, tag: str, stamp: Stamp, cancelled: threading.Event) -> None:
        log.info("building %s from %s", tag, root / DOCKERFILE)
        began = time.monotonic()
        try:
            self._follow(root, tag, stamp, lambda: self._stop(began, cancelled))
        except NoImageError as failed:
            if not cancelled.is_set():
                self._failed[tag] = failed, time.monotonic() + FAILURE_REMEMBERED_S
            raise
        log.info("%s is built after %.1f s", tag, time.monotonic() - began)

    def _stop(self, began: float, cancelled: threading.Event) -> str:
        """Why the build is to end now; empty: it is not."""
        if cancelled.is_set():
            return "cancelled"
        return self._too_long if time.monotonic() > began + self._timeout_s else ""

    @property
    def _too_long(self) -> str:
        return f"it took longer than {self._timeout_s:g} s"

    def _follow(self, root: Path, tag: str, stamp: Stamp, stop: Callable[[], str]) -> None:
        said: list[str] = []
        wrong = ""
        with tar(str(root), exclude=_ignored(root), dockerfile=(DOCKERFILE, None)) as context:
            # Closing the connection ends the build.
            api = docker.from_env(timeout=self._timeout_s).api
            hang_up = _hanging_up(api, stop)
            try:
                for line in api.build(
                    fileobj=context, custom_context=True, tag=tag, rm=True, forcerm=True, decode=True,
                    timeout=self._timeout_s, labels={SKILL_LABEL: str(root)},
                    container_limits={"memory": BUILD_MEMORY, "memswap": BUILD_MEMORY},
                ):  # fmt: skip
                    said.append(line.get("stream", "").strip())
                    if wrong := line.get("error", "") or stop():
                        break
            except (DockerException, RequestException, HTTPError) as failed:
                wrong = stop() or innermost(failed)
            finally:
                hang_up.set()
                api.close()
        if wrong:
            last = " / ".join([line for line in said if line][-SHOWN_LINES:])
            raise NoImageError(f"the skill's {DOCKERFILE} cannot be built: {wrong.strip()}; it said: {last}")


def _hanging_up(api: docker.APIClient, stop: Callable[[], str]) -> threading.Event:
    """Shut the connection of `api` as soon as `stop` says so, also while the engine says nothing; until the event."""
    replies: list[Any] = []
    api.hooks["response"].append(lambda reply, **_: replies.append(reply))
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOCK_POLL_S):
            if replies and stop():
                with suppress(OSError):  # it has just ended
                    connection: Any = api._get_raw_response_socket(replies[-1])
                    getattr(connection, "_sock", connection).shutdown(socket.SHUT_RDWR)
                return

    threading.Thread(target=watch, name="image-build", daemon=True).start()
    return over


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _ignored(root: Path) -> list[str]:
    file = root / ".dockerignore"
    lines = file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
    return [*IGNORED, *(line.strip() for line in lines if line.strip() and not line.startswith("#"))]


def _stamp(root: Path) -> Stamp:
    """Changes whenever what a build sees does."""
    seen = []
    for name in sorted(exclude_paths(str(root), _ignored(root))):
        found = (root / name).lstat()
        seen.append((name, found.st_mode, found.st_size, found.st_mtime_ns))
    return tuple(seen)


def _digest(root: Path, stamp: Stamp) -> str:
    total = hashlib.sha256()
    for name, mode, _, _ in stamp:
        path = root / name
        content = bytes(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        total.update(repr((name, mode)).encode() + hashlib.sha256(content).digest())
    return total.hexdigest()[:16]


def _plain(name: str) -> str:
    """As names of images may be."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "skill"
