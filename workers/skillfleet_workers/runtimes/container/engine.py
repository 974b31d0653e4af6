"""The Docker engine: reached, named in errors, and swept of what dead workers have left."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import docker
from docker.errors import APIError, DockerException, NotFound
from requests.exceptions import RequestException

from ..base import RuntimeUnavailableError
from ..owner import Owner, owner_of

OWNER_LABEL = "skillfleet.owner"
FLEET_LABEL = "skillfleet.fleet"
ANSWER_TIMEOUT_S = 60
POOLED_CONNECTIONS = 64
GVISOR = "runsc"
HOW_TO_START = "start one (systemctl start docker), or name another in DOCKER_HOST"


def connect() -> docker.DockerClient:
    """Raises: RuntimeUnavailableError: no engine answers."""
    try:
        client = docker.from_env(timeout=ANSWER_TIMEOUT_S, max_pool_size=POOLED_CONNECTIONS)
        client.ping()
    except (DockerException, RequestException) as wrong:
        raise RuntimeUnavailableError(f"no Docker engine answers ({innermost(wrong)}); {HOW_TO_START}") from wrong
    return client


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
    """Kill it and all in it; harmless where it is gone, or is on its way."""
    with suppress(APIError):
        client.api.kill(container)
    try:
        client.api.remove_container(container, force=True, v=True)
    except NotFound:
        pass
    except APIError as wrong:
        if wrong.status_code != 409:  # the engine removes it already
            raise


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
