"""Which runtimes there are, and which group of cases holds for which of them: the only skips that CI allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.runtime_image import runtime_image

from skillfleet_workers.runtimes.base import Runtime
from skillfleet_workers.runtimes.cgroups import Cgroups, find_cgroups
from skillfleet_workers.runtimes.container.runtime import ContainerRuntime
from skillfleet_workers.runtimes.isolation import kernel_locks, sandbox_user
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime
from skillfleet_workers.wire.execution import Isolation


def warm(_: Path) -> Runtime:
    found = find_cgroups()
    return WarmRuntime(found if isinstance(found, Cgroups) else None, sandbox_user())


def container(scratch: Path) -> Runtime:
    return ContainerRuntime(scratch, runtime_image())


def plain(scratch: Path) -> Runtime:
    """As with gVisor, and in images without a Python that can be kept warm."""
    return ContainerRuntime(scratch, runtime_image(), keep_warm=False)


RUNTIMES: dict[str, Callable[[Path], Runtime]] = {
    "process": ProcessRuntime,
    "warm": warm,
    "container": container,
    "plain-container": plain,
}
CONTAINERS = ("container", "plain-container")
FRESH = ("process", "plain-container")
"""Every run of theirs is an interpreter of its own, started for it."""


def sums(name: str) -> bool:
    """Whether a run of that runtime is limited as a whole, by whoever we are."""
    return name in CONTAINERS or isinstance(find_cgroups(), Cgroups)


def is_locked() -> bool:
    """Whether the kernel can close a plain process's files, signals and sockets, all three."""
    return kernel_locks().landlock_abi >= 6 and kernel_locks().seccomp


HOLDING: tuple[Isolation, ...] = ("sandbox", "container", "gvisor")
"""What holds hostile code."""


@dataclass(frozen=True)
class Group:
    """Cases that hold for every runtime, but for those in `not_for` (with the reason).

    `held`: they need a host on which the runtime's results say that it holds hostile code. `summed`: and control
    groups, which are root's: an ordinary user's sandbox limits the memory of each process by itself. `locked`: a
    plain process will do where the kernel has all locks.
    """

    held: bool = False
    locked: bool = False
    summed: bool = False
    not_for: Mapping[str, str] = field(default_factory=dict)


NO_WALLS = {"process": "it has locks and no walls: namespaces or control groups would hold this"}
NO_RESIDENT = "it has no resident supervisor of its own"
ALL_APART = {"plain-container": "every run is a container by itself: many of them show no more than one"}
OTHERS = tuple(name for name in RUNTIMES if name != "process")

GROUPS: dict[str, Group] = {
    "outcome": Group(),
    "request": Group(),
    "output": Group(),
    "same as plain python": Group(not_for={"plain-container": "its scripts are plain interpreters"}),
    "flat memory": Group(),
    "killing": Group(),
    "death of a resident": Group(not_for=dict.fromkeys(OTHERS, NO_RESIDENT)),
    "death of a holder": Group(
        not_for={
            "process": "each of its two holders has tests of its own",
            **dict.fromkeys(CONTAINERS, "what holds its scripts belongs to the engine"),
        }
    ),
    "death of the worker": Group(),
    "many runs": Group(not_for=ALL_APART),
    "clean start": Group(),
    "endurance": Group(not_for=ALL_APART),
    "network": Group(
        not_for=dict.fromkeys(CONTAINERS, "the engine's bridge leads outside, not to the host's own loopback")
    ),
    "bombs": Group(held=True, not_for=NO_WALLS),
    "memory bombs": Group(held=True, summed=True, not_for=NO_WALLS),
    "secrecy": Group(held=True, not_for=NO_WALLS),
    "locks": Group(held=True, locked=True),
}


@dataclass(frozen=True)
class Wanted:
    """The parameter of the `runtime` fixture."""

    name: str
    held: bool
    summed: bool
    locked: bool


def applies(group: str) -> pytest.MarkDecorator:
    """Run the cases once for each runtime that the group is for."""
    rules = GROUPS[group]
    chosen = []
    for name in RUNTIMES:
        reason = rules.not_for.get(name)
        marks = [pytest.mark.skip(reason=f"not for {name}: {reason}")] if reason else []
        chosen.append(pytest.param(Wanted(name, rules.held, rules.summed, rules.locked), id=name, marks=marks))
    return pytest.mark.parametrize("runtime", chosen, indirect=True)
