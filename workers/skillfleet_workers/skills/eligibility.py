"""Whether a worker can run a skill (seed 004; pure, but for what a Host looks up)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from ..wire.shown import short
from .config_values import values_of
from .models import WITHHELD, Skill
from .override_file import Override
from .registry import DependencyCycleError, MissingDependencyError, Registry

REASON_CHARS = 300
"""Most characters of what others say, and of a chain of dependencies."""

Filter = Callable[[Skill, "Host"], str | None]
"""Of others: why this host is not to run this skill; None: it may."""


@dataclass(frozen=True, slots=True)
class Host:
    """`which` finds a program, as scripts would; `environ` are the worker's variables; `platform` is darwin, linux or
    win32; `queues` are those that the worker serves; `filters` by name."""

    which: Callable[[str], str | None]
    environ: Mapping[str, str]
    platform: str
    queues: frozenset[str] = frozenset()
    filters: Mapping[str, Filter] = field(default_factory=dict)


def nothing_set(_name: str) -> Override:
    return Override()


def why_not(
    skill: Skill, host: Host, override: Override, registry: Registry, others: Callable[[str], Override] = nothing_set
) -> str | None:
    """The first reason against it; None: eligible. `override` is this skill's, `others` gives that of a skill that it
    depends on."""
    return _first_reason(skill, host, override, partial(_dependencies, skill, host, registry, others))


def _first_reason(skill: Skill, host: Host, override: Override, dependencies: Callable[[], str | None]) -> str | None:
    if not override.enabled:
        return short(override.reason, REASON_CHARS)
    if skill.always:
        return None
    unmet = chain(_programs(skill, host), _values(skill, host, override), _queue(skill, host))
    return next(unmet, None) or dependencies() or next(_refused(skill, host), None)


def _programs(skill: Skill, host: Host) -> Iterator[str]:
    needs = skill.requires
    if needs.os and host.platform not in needs.os:
        yield f"it is for {_listed(needs.os)}, this worker runs on {host.platform}"
    for program in needs.bins:
        if host.which(program) is None:
            yield f"it needs the program {program!r}, which this worker does not have"
    if needs.any_bins and not any(map(host.which, needs.any_bins)):
        yield f"it needs one of the programs {_listed(needs.any_bins)}, this worker has none of them"


def _values(skill: Skill, host: Host, override: Override) -> Iterator[str]:
    variables = {**host.environ, **override.env}
    for variable in skill.requires.env:
        if variable.startswith(WITHHELD):
            yield f"it needs the variable {variable}, which is never given to a skill"
        if not variables.get(variable):
            yield f"it needs the variable {variable}, which this worker does not have"
    config = values_of(skill.config, variables, override.config)
    for key in skill.requires.config:
        if not _value(config, key):
            yield f"it needs {key!r} in its configuration, which has no value for it"


def _queue(skill: Skill, host: Host) -> Iterator[str]:
    if skill.queue and skill.queue not in host.queues:
        yield f"it asks for the queue {skill.queue!r}, which this worker does not serve"


def _value(config: Any, key: str) -> Any:
    """At the end of a dotted path."""
    for part in key.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config


def _dependencies(skill: Skill, host: Host, registry: Registry, others: Callable[[str], Override]) -> str | None:
    try:
        order = registry.in_order(skill.dependencies)
    except (MissingDependencyError, DependencyCycleError) as wrong:
        return str(wrong)
    reasons: dict[str, str | None] = {}

    def ineligible(dependencies: Iterable[str]) -> str | None:
        names = map(registry.name_of, dependencies)
        found = (f"it depends on {name!r}: {why}" for name in names if (why := reasons[name]))
        return next((short(reason, REASON_CHARS) for reason in found), None)

    for name in order:
        found = registry.get_skill(name)
        reasons[name] = _first_reason(found, host, others(found.name), partial(ineligible, found.dependencies))
    return ineligible(skill.dependencies)


def _refused(skill: Skill, host: Host) -> Iterator[str]:
    for name, ask in host.filters.items():
        try:
            why = ask(skill, host)
        except Exception as broken:  # noqa: BLE001  It is other people's code: what it cannot judge is not run.
            why = f"the filter {name!r} failed: {type(broken).__name__}: {short(broken, REASON_CHARS)}"
        if why:
            yield short(why, REASON_CHARS)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
