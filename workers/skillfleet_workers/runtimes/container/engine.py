"""The Docker engine: reached, named in errors, and swept of what dead workers have left."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, NotFound
from requests.exceptions import RequestException

from ..base import RuntimeUnavailableError
from ..owner import Owner, owner_of

OWNER_LABEL = "skillfleet.owner"
FLEET_LABEL = "skillfleet.fleet"
ANSWER_TIMEOUT_S = 60
POOLED_CONNECTIONS = 64
REMOVAL_PATIENCE_S = 20.0
POLL_S = 0.02
GVISOR = "runsc"
"""The program; an engine may know it by other names as well."""

HOW_TO_START = "start one (systemctl start docker), or name another in DOCKER_HOST"


def connect() -> docker.DockerClient:
    """Raises: RuntimeUnavailableError: no engine answers."""
    try:
        client = docker.from_env(timeout=ANSWER_TIMEOUT_S, max_pool_size=POOLED_CONNECTIONS)
        client.ping()
    except (DockerException, RequestException) as wrong:
        raise RuntimeUnavailableError(f"no Docker engine answers ({innermost(wrong)}); {HOW_TO_START}") from wrong
    return client


def gvisor_among(info: Mapping[str, Any]) -> str | None:
    """The name by which an engine that says this of itself knows gVisor; None: it does not (pure)."""
    runtimes: Mapping[str, Mapping[str, Any]] = info.get("Runtimes") or {}
    if GVISOR in runtimes:
        return GVISOR
    return next(
        (name for name, told in sorted(runtimes.items()) if Path(told.get("path") or "").name == GVISOR), None
    )


def innermost(wrong: BaseException) -> str:
    """What went wrong at the bottom, in one line: the layers above only wrap it."""
    while wrong.__context__ is not None:
        wrong = wrong.__context__
    said = wrong.explanation if isinstance(wrong, APIError) and wrong.explanation else wrong
    if isinstance(said, OSError) and said.strerror:
        said = said.strerror
    return " ".join(str(said).split())


@contextmanager
def engine_trouble(what: str) -> Iterator[None]:
    """Whatever the engine says no to, or does not say, is infrastructure."""
    try:
        yield
    except (DockerException, RequestException, OSError) as wrong:
        raise RuntimeUnavailableError(f"{what}: {innermost(wrong)}") from wrong


def remove(client: docker.DockerClient, container: str) -> None:
    """Kill it and all in it; it is gone when this returns, and may be so before.

    Raises:
        APIError: the engine does not manage.
    """
    with suppress(APIError):  # it has ended
        client.api.kill(container)
    give_up = time.monotonic() + REMOVAL_PATIENCE_S
    while True:
        try:
            client.api.remove_container(container, force=True, v=True)
        except NotFound:
            return
        except APIError as wrong:
            # The engine removes it already, as it does with a warm one that has ended.
            if wrong.status_code != HTTPStatus.CONFLICT or time.monotonic() > give_up:
                raise
            time.sleep(POLL_S)


def owned(client: docker.DockerClient, owner: Owner | None = None) -> dict[str, Owner]:
    """The containers that SkillFleet has made, by id: all, or those of one process."""
    label = OWNER_LABEL if owner is None else f"{OWNER_LABEL}={owner}"
    listed = client.api.containers(all=True, filters={"label": [label]})
    owners = {one["Id"]: owner_of(one["Labels"][OWNER_LABEL]) for one in listed}
    return {container: found for container, found in owners.items() if found is not None}


def sweep(client: docker.DockerClient) -> list[str]:
    """Remove the containers of workers that are dead; the ids of those removed."""
    orphans = [container for container, owner in owned(client).items() if owner.dead]
    for container in orphans:
        remove(client, container)
    return orphans
