"""The runtimes that this host can offer."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from ..wire.execution import Isolation
from ..wire.plugins import RUNTIMES, plugins
from .base import RuntimeUnavailableError
from .cgroups import Cgroups, find_cgroups
from .choice import ChosenRuntime, Offer
from .container.runtime import ContainerRuntime
from .isolation import at_least, sandbox_trouble, sandbox_user
from .process import ProcessRuntime
from .warm.runtime import WarmRuntime

DOCKER_SOCKET = Path("/var/run/docker.sock")
log = logging.getLogger(__name__)


def host_runtime(
    scratch: Path, minimum: Isolation, *, fleet: str = "", warm_mb: int = 1024, image_build_timeout_s: float = 600.0
) -> ChosenRuntime:
    """`scratch` is the worker's own; `warm_mb`: memory for the interpreters that wait for a run."""

    def find() -> Mapping[str, Offer]:
        process = ProcessRuntime(scratch)
        offers = {"process": Offer(process, process.isolation)}
        if trouble := sandbox_trouble():
            log.warning("scripts run without a sandbox: %s (`skillfleet doctor` says more)", trouble)
        else:
            warm = WarmRuntime(_cgroups(), sandbox_user(), warm_mb)
            offers["warm"] = Offer(warm, warm.isolation)
        held = any(at_least(offer.isolation, minimum) for offer in offers.values())
        if "DOCKER_HOST" in os.environ or os.access(DOCKER_SOCKET, os.W_OK):
            container = ContainerRuntime(
                scratch, fleet=fleet, budget_mb=warm_mb, build_timeout_s=image_build_timeout_s
            )
            if held or _engine_answers(container):
                offers["container"] = Offer(container, container.isolation)
        return {**_of_others(scratch), **offers}

    return ChosenRuntime(find, minimum)


def _of_others(scratch: Path) -> dict[str, Offer]:
    """Each entry point is called with the worker's scratch folder, and gives a Runtime that says its isolation."""
    offers = {}
    for plugin in plugins(RUNTIMES):
        try:
            made = None if plugin.trouble else plugin.value(scratch)
            if made is not None:
                offers[plugin.name] = Offer(made, made.isolation)
        except Exception as wrong:  # noqa: BLE001  code of others: one that fails must not take the worker down
            log.error("the runtime %s is not offered: %s: %s", plugin.name, type(wrong).__name__, wrong)
        if plugin.trouble:
            log.error("the runtime %s is not offered: %s", plugin.name, plugin.trouble)
    return offers


def _engine_answers(container: ContainerRuntime) -> bool:
    """Asked only where nothing else will do: it may take long not to answer."""
    try:
        container.reached()
    except RuntimeUnavailableError as missing:
        log.warning("scripts run without containers: %s", missing)
        return False
    return True


def _cgroups() -> Cgroups | None:
    found = find_cgroups()
    if isinstance(found, str):
        log.warning(
            "memory and processes of a script are limited one by one, not as a whole, its cores not at all: %s", found
        )
        return None
    found.sweep()
    return found
