"""Which runtime a run gets: the fastest that satisfies the policy, or the one that its skill names."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..wire.execution import Isolation, ScriptExecution
from .base import RunRequest, Runtime, RuntimeChoice
from .container.builds import DOCKERFILE
from .handover import described
from .isolation import at_least

FASTEST_FIRST = ("warm", "process", "container")
ANSWERS: Mapping[RuntimeChoice, tuple[str, ...]] = {
    "auto": FASTEST_FIRST,
    "warm": ("warm", "container"),
    "process": ("warm", "process", "container"),
    "container": ("container",),
}
"""What may serve a skill that asks for it. `process` wants a fresh interpreter: the warm runtime starts one in its
sandbox; the container's is warm, yet what it is held by is stronger."""

UNBUILT = f"the skill's {DOCKERFILE} was not used: this worker has no Docker engine"


class Asks(Protocol):
    """What decides, of a skill and of each of its runs."""

    @property
    def runtime(self) -> RuntimeChoice: ...
    @property
    def image(self) -> str | None: ...


def wanted(asked: Asks, *, ships: bool, engine: bool) -> RuntimeChoice:
    """What `auto` comes to. An image that is named is demanded; a Dockerfile (`ships`) may lie there for others, so
    where there is no engine it is passed over (pure)."""
    if asked.runtime == "auto" and (asked.image or (ships and engine)):
        return "container"
    return asked.runtime


@dataclass(frozen=True, slots=True)
class Offer:
    runtime: Runtime
    isolation: Isolation


def chosen(choice: RuntimeChoice, offers: Mapping[str, Offer], minimum: Isolation) -> str | None:
    """None: this worker has none that will do (pure). A runtime of others serves only who names it."""
    fitting = (
        name
        for name in ANSWERS.get(choice, (choice,))
        if name in offers and at_least(offers[name].isolation, minimum)
    )
    return next(fitting, None)


class ChosenRuntime:
    """All runtimes of a worker behind the port of one."""

    name = "auto"

    def __init__(self, find: Callable[[], Mapping[str, Offer]], minimum: Isolation) -> None:
        """`find` is called at once, in a thread: what a host can hold is found by trying, which takes a moment."""
        self._minimum = minimum
        probe = ThreadPoolExecutor(1, "probe")
        self._found = probe.submit(find)
        probe.shutdown(wait=False)

    @property
    def _offers(self) -> Mapping[str, Offer]:
        return self._found.result()

    @property
    def refusal(self) -> str:
        """Why no run at all would do; empty where one would."""
        return "" if chosen("auto", self._offers, self._minimum) else self._refusal("auto")

    @property
    def names(self) -> tuple[str, ...]:
        of_others = sorted(self._offers.keys() - set(FASTEST_FIRST))
        return (*(name for name in FASTEST_FIRST if name in self._offers), *of_others)

    @property
    def isolation(self) -> Isolation:
        """What holds the runs of skills that ask for nothing."""
        name = chosen("auto", self._offers, self._minimum)
        return self._offers[name].isolation if name else "none"

    def isolation_of(self, asked: Asks, root: Path) -> Isolation:
        """What would hold a run in the skill at `root`; `none` too where nothing would run."""
        name = chosen(self._wanted(asked, _ships(root)), self._offers, self._minimum)
        return self._offers[name].isolation if name else "none"

    def run(self, request: RunRequest) -> ScriptExecution:
        ships = _ships(request.skill_root)
        choice = self._wanted(request, ships)
        name = chosen(choice, self._offers, self._minimum)
        if name is None:
            return ScriptExecution(status="failed", error=self._refusal(choice), **described(request))
        if request.runtime == "process":
            request = replace(request, fresh_interpreter=True)
        done = self._offers[name].runtime.run(request)
        if ships and choice == "auto" and not done.success and done.error is None:
            return done.model_copy(update={"error": UNBUILT})
        return done

    def close(self) -> None:
        for offer in self._offers.values():
            offer.runtime.close()

    def _wanted(self, asked: Asks, ships: bool) -> RuntimeChoice:
        return wanted(asked, ships=ships, engine="container" in self._offers)

    def _refusal(self, choice: RuntimeChoice) -> str:
        has = ", ".join(f"{name} ({self._offers[name].isolation})" for name in self.names)
        return (
            f"nothing ran: SKILLFLEET_MIN_ISOLATION demands {self._minimum!r}, the skill the runtime {choice!r}; "
            f"this worker has {has}: `skillfleet doctor` says what is missing"
        )


def _ships(root: Path) -> bool:
    return (root / DOCKERFILE).is_file()
