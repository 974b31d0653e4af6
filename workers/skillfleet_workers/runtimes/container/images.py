"""Which image a skill's runs are in, and what that image can run."""

import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import docker
from docker.errors import APIError, ContainerError, DockerException, ImageNotFound

from ...skills.languages import INTERPRETERS
from ..base import Limits, RuntimeUnavailableError
from .engine import engine_trouble, innermost
from .hardening import Plan, options

KNOWN_FOR_S = 60.0
"""So long a name is not looked up again, whatever the answer was: a look-up costs as much as a run."""

PROBE_MEMORY_MB = 256
USABLE_PYTHON = """
import ctypes, json, os, shutil, sys
names = json.loads(sys.argv[1])
found = {kind: shutil.which(name) for kind, name in names.items()}
usable = hasattr(os, "pidfd_open") and hasattr(ctypes.pythonapi, "PyRun_SimpleFileExFlags")
found["python"] = sys.executable if usable else None
print(json.dumps(found))
"""
log = logging.getLogger(__name__)


class NoImageError(Exception):
    """A skill asks for an image that can't be had. The message names it, and says why."""


@dataclass(frozen=True, slots=True)
class Image:
    """`own`: a skill's, which brings its interpreters. `interpreters`: where they are, by language, if there is a
    Python that can be kept warm to look for them."""

    id: str
    name: str
    own: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    interpreters: Mapping[str, str] = field(default_factory=dict)

    @property
    def warm(self) -> bool:
        return "python" in self.interpreters


class Images:
    """Thread safe."""

    def __init__(self, client: docker.DockerClient, user: tuple[int, int], labels: Mapping[str, str]) -> None:
        self._client, self._user, self._labels = client, user, labels
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._known: dict[str, tuple[Image | NoImageError, float]] = {}
        self._interpreters: dict[str, Mapping[str, str]] = {}

    def named(self, name: str, *, ours: bool = False) -> Image:
        """Pulled if it is not here. `ours`: the worker's interpreters are shown to it, none of its own is looked for.

        Raises:
            NoImageError, RuntimeUnavailableError
        """
        with self._one_at_a_time(name):
            known, until = self._known.get(name, (None, 0.0))
            if known is None or time.monotonic() > until:
                try:
                    known = self._looked_up(name, ours)
                except NoImageError as missing:
                    known = missing
                self._known[name] = known, time.monotonic() + KNOWN_FOR_S
        if isinstance(known, NoImageError):
            raise known
        return known

    def has(self, name: str) -> bool:
        """Here, without a pull."""
        with engine_trouble(f"image {name} cannot be looked for"):
            return bool(self._client.api.images(name))

    def _one_at_a_time(self, name: str) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(name, threading.Lock())

    def _looked_up(self, name: str, ours: bool) -> Image:
        with engine_trouble(f"image {name} cannot be looked for"):
            try:
                found = self._client.images.get(name)
            except ImageNotFound:
                found = self._pulled(name)
        variables = [word.partition("=") for word in found.attrs["Config"].get("Env") or ()]
        image = Image(found.id, name, not ours, {name: value for name, _, value in variables})
        return image if ours else replace(image, interpreters=self._interpreters_of(image))

    def _pulled(self, name: str) -> Any:
        log.info("pulling image %s", name)
        try:
            return self._client.images.pull(name)
        except DockerException as refused:
            raise NoImageError(
                f"image {name} is not on this machine and cannot be pulled: {innermost(refused)}"
            ) from refused

    def _interpreters_of(self, image: Image) -> Mapping[str, str]:
        if image.id not in self._interpreters:
            self._interpreters[image.id] = self._probed(image)
        return self._interpreters[image.id]

    def _probed(self, image: Image) -> Mapping[str, str]:
        program = ("python3", "-I", "-c", USABLE_PYTHON, json.dumps(INTERPRETERS))
        plan = Plan(
            image=image.id, program=program, paths=(), user=self._user, limits=Limits(), network="none",
            memory_mb=PROBE_MEMORY_MB, labels=self._labels, folder="/",
        )  # fmt: skip
        wanted = options(plan) | {"log_config": None}
        try:
            told = self._client.containers.run(**wanted, remove=True)
        except (ContainerError, APIError) as wrong:
            log.info("image %s has no Python that can be kept warm: %s", image.name, innermost(wrong))
            return {}
        except DockerException as wrong:
            raise RuntimeUnavailableError(f"image {image.name} cannot be tried: {innermost(wrong)}") from wrong
        return {kind: path for kind, path in json.loads(told).items() if path}
