"""skills list: what there is, what can run, and why the rest cannot."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal

import typer

from ..skills.models import Skill
from ..wire.published import PublishedSkill
from ..wire.shown import short
from .live import LiveWorker, live_workers
from .machine import HEALTHY, Machine
from .told import Json, say, say_json, say_table

DESCRIPTION_CHARS = 70

State = Literal["eligible", "ineligible", "hidden", "shadowed", "skipped"]


@dataclass(frozen=True, slots=True)
class OnWorker:
    worker: str
    eligible: bool
    reason: str
    health: str


@dataclass(frozen=True, slots=True)
class Listed:
    """`scope` empty: no skill of this machine, only of workers. `workers`: what each live one says of it."""

    name: str
    version: str
    description: str
    state: State
    reason: str = ""
    health: str = HEALTHY
    scope: str = ""
    folder: str = ""
    tags: tuple[str, ...] = ()
    workers: tuple[OnWorker, ...] = field(default=())

    @property
    def runs(self) -> bool:
        """For a model to find: where workers live, on one of them."""
        able = any(on.eligible for on in self.workers) if self.workers else self.state == "eligible"
        return able and self.state not in ("hidden", "shadowed", "skipped")


def list_skills(
    everything: Annotated[
        bool,
        typer.Option("--all", help="Those that cannot run, are hidden, shadowed or skipped, too, with the reason."),
    ] = False,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only those with this tag; may be repeated: with all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The skills of this machine, and of the live workers where a redis can be reached."""
    machine = Machine()
    found = with_workers(of_machine(machine), live_workers(machine.settings))
    wanted = [one for one in found if set(tag or ()) <= set(one.tags)]
    shown = [one for one in wanted if everything or one.runs]
    if as_json:
        say_json([asdict(one) for one in shown])
        return
    machine.warn()
    _say(shown, everything)
    if left := len(wanted) - len(shown):
        say(f"{left} more cannot run, or {'is' if left == 1 else 'are'} hidden, shadowed or skipped: see --all")
    if not wanted:
        say("No skills: `skillfleet skills new NAME` writes one, `skillfleet skills install SOURCE` brings one.")


def of_machine(machine: Machine) -> list[Listed]:
    listed = [_listed(machine, skill) for skill in machine.catalog.versions]
    for shadowed in machine.catalog.shadowed:
        reason = f"{shadowed.by} comes first"
        listed.append(Listed(shadowed.name, "", "", "shadowed", reason, folder=str(shadowed.root)))
    for skip in machine.catalog.skips:
        listed.append(Listed(skip.name, "", "", "skipped", skip.reason, folder=str(skip.root)))
    return sorted(listed, key=lambda one: one.name)


def with_workers(listed: Iterable[Listed], workers: Iterable[LiveWorker]) -> list[Listed]:
    """Each with what the workers say of it, and those that only workers have (pure)."""
    said: dict[tuple[str, str], list[OnWorker]] = {}
    published: dict[tuple[str, str], PublishedSkill] = {}
    for worker in workers:
        highest = {skill.name: skill.version for skill in worker.skills}
        for skill in worker.skills:
            known_as = skill.name if skill.version == highest[skill.name] else f"{skill.name}@{skill.version}"
            on = OnWorker(worker.name, skill.eligible, skill.reason, worker.health.get(known_as, HEALTHY))
            said.setdefault((skill.name, skill.version), []).append(on)
            published.setdefault((skill.name, skill.version), skill)
    merged = []
    for one in listed:
        here = said.pop((one.name, one.version), []) if one.state in ("eligible", "ineligible", "hidden") else []
        merged.append(_on(one, here))
    merged += [_on(_elsewhere(published[key], here), here) for key, here in said.items()]
    return sorted(merged, key=lambda one: one.name)


def _listed(machine: Machine, skill: Skill) -> Listed:
    reason = machine.reason(skill)
    state: State = "ineligible" if reason else "hidden" if skill.disable_model_invocation else "eligible"
    if state == "hidden":
        reason = "models do not find it (disable-model-invocation)"
    return Listed(
        skill.name, skill.version, skill.description, state, reason, machine.health(skill), skill.scope,
        str(skill.root), skill.tags,
    )  # fmt: skip


def _elsewhere(skill: PublishedSkill, on: list[OnWorker]) -> Listed:
    able = any(one.eligible for one in on)
    state: State = "hidden" if skill.hidden else "eligible" if able else "ineligible"
    return Listed(skill.name, skill.version, skill.description, state, skill.reason, tags=skill.tags)


def _on(one: Listed, workers: list[OnWorker]) -> Listed:
    return Listed(**{name: getattr(one, name) for name in Listed.__dataclass_fields__} | {"workers": tuple(workers)})


def _say(shown: list[Listed], everything: bool) -> None:
    if shown:
        rows = [("NAME", "VERSION", "STATE", "DESCRIPTION")]
        say_table(
            rows + [(one.name, one.version, _state(one), short(one.description, DESCRIPTION_CHARS)) for one in shown]
        )
    for one in shown if everything else ():
        if one.reason:
            say(f"{one.name}: {one.state}: {one.reason}")
        for on in one.workers:
            if not on.eligible or on.health != HEALTHY:
                say(f"{one.name}: on {on.worker}: {on.health if on.eligible else 'ineligible: ' + on.reason}")


def _state(one: Listed) -> str:
    able = sum(on.eligible for on in one.workers)
    state = one.state if one.state != "eligible" or one.health == HEALTHY else one.health
    return f"{state}, {able} of {len(one.workers)} workers" if one.workers else state
