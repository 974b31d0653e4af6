"""Runs in containers: as forks of an interpreter kept warm in one, or each in a container by itself."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import docker

from ...skills.languages import INTERPRETERS
from ...wire.execution import Isolation, ScriptExecution
from ..base import RunRequest
from ..handover import described
from ..isolation import SANDBOX_UID
from ..owner import this_process
from ..warm.channel import Warm
from ..warm.leased_run import run_leased
from ..warm.pool import Pool
from ..warm.recipe import Recipe, recipe_for
from .builds import DOCKERFILE, Builds
from .engine import FLEET_LABEL, OWNER_LABEL, connect, engine_trouble, gvisor_among, owned, remove, sweep
from .images import Image, Images, NoImageError
from .interpreter import Host, WarmContainer
from .plain import PlainContainer

DEFAULT_IMAGE = "skillfleet-runtime"
HOW_TO_GET_IT = "make it: docker build -f deploy/skill-runtime.Dockerfile -t {image} deploy"


class Containers:
    """All that there is once an engine has answered."""

    def __init__(self, client: docker.DockerClient, scratch: Path, fleet: str, build_timeout_s: float) -> None:
        user = (SANDBOX_UID, SANDBOX_UID) if os.geteuid() == 0 else (os.getuid(), os.getgid())
        labels = {OWNER_LABEL: str(this_process()), FLEET_LABEL: fleet}
        with engine_trouble("the Docker engine does not say what it can do"):
            runtime = gvisor_among(client.info())
        self.host = Host(client, scratch, user, labels, runtime)
        self.images = Images(client, user, labels)
        self.builds = Builds(client, self.images, scratch.parent / "image-locks", build_timeout_s)


class ContainerRuntime:
    """Thread safe. `image`: of skills that bring none; the worker's interpreters and environments are shown to it.

    No engine is asked for anything before the first run.
    """

    name = "container"

    def __init__(
        self,
        scratch: Path,
        image: str = DEFAULT_IMAGE,
        *,
        fleet: str = "",
        budget_mb: int = 1024,
        build_timeout_s: float = 600.0,
        keep_warm: bool = True,
    ) -> None:
        """`keep_warm`: False: every run is a container by itself, as with gVisor."""
        self._scratch, self._image, self._fleet, self._build_timeout_s = scratch, image, fleet, build_timeout_s
        self._keep_warm = keep_warm
        self._lock = threading.Lock()
        self._containers: Containers | None = None
        self._images: dict[str, Image] = {}
        self._pool = Pool(self._make, budget_mb << 20)

    @property
    def isolation(self) -> Isolation:
        """Of what runs from now on; nobody knows of gVisor before the engine is reached."""
        return "gvisor" if self._containers is not None and self._containers.host.runtime else "container"

    def close(self) -> None:
        self._pool.close()
        if self._containers is not None:
            client = self._containers.host.client
            with engine_trouble("containers cannot be removed"):
                for container in owned(client, this_process()):
                    remove(client, container)
                sweep(client)
            client.close()

    def run(self, request: RunRequest) -> ScriptExecution:
        containers = self.reached()
        facts = described(request) | {"runtime": self.name, "isolation": self.isolation}
        try:
            image = self._image_for(request, containers)
            if image.own:
                request = in_its_own(image, request)
                facts |= described(request)
            recipe = recipe_for(request, image.id if image.own else "")
        except NoImageError as missing:
            return ScriptExecution(status="failed", error=str(missing), **facts)
        except OSError as wrong:
            return ScriptExecution(status="failed", error=f"{wrong.strerror}: {wrong.filename}", **facts)
        self._images[recipe.image] = image
        return run_leased(request, recipe, self._pool, facts)

    def reached(self) -> Containers:
        """Raises: RuntimeUnavailableError: no engine answers."""
        with self._lock:
            if self._containers is None:
                client = connect()
                with engine_trouble("what dead workers have left cannot be removed"):
                    sweep(client)
                self._containers = Containers(client, self._scratch, self._fleet, self._build_timeout_s)
            return self._containers

    def _image_for(self, request: RunRequest, containers: Containers) -> Image:
        """The one that the skill names, else that of its Dockerfile, else ours. Raises: NoImageError."""
        if request.image:
            return containers.images.named(request.image)
        if (request.skill_root / DOCKERFILE).is_file():
            return containers.images.named(containers.builds.image_name(request.skill_root, request.cancelled))
        try:
            return containers.images.named(self._image, ours=True)
        except NoImageError as missing:
            raise NoImageError(f"{missing}; {HOW_TO_GET_IT.format(image=self._image)}") from missing

    def _make(self, recipe: Recipe) -> Warm:
        image, host = self._images[recipe.image], self.reached().host
        # gVisor passes no descriptors to the outside.
        if host.runtime or not self._keep_warm or (recipe.image and not image.warm):
            return PlainContainer(recipe, image, host)
        return WarmContainer(recipe, image, host)


def in_its_own(image: Image, request: RunRequest) -> RunRequest:
    """The request with the image's interpreter and, below the skill's, its variables; its PATH holds."""
    name = INTERPRETERS[request.language]
    environment: dict[str, str] = {**image.environment, **request.environment}
    if path := image.environment.get("PATH"):
        environment["PATH"] = path
    return replace(request, interpreter=Path(image.interpreters.get(request.language, name)), environment=environment)
