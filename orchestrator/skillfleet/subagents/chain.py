"""Skills that run without a model: what has to run, in which order, and whether the parameters fit (pure)."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from pydantic import JsonValue

from skillfleet_workers.wire.contract import ToolError
from skillfleet_workers.wire.published import Entry, PublishedSkill, Snapshot
from skillfleet_workers.wire.schema_defaults import with_defaults
from skillfleet_workers.wire.versions import SEPARATOR

from ..llm.rendering import UnresolvedReference
from .chain_inputs import PARAMS, quoted, references, with_params
from .chain_params import misfit, misfits_told, redefaulted
from .models import ChainStep

MAX_STEPS = 60
"""With the events of each, a turn can call all of them."""
NAMED_SKILLS = 20
"""Most that are named where there is none of the name that was asked for."""

Graph = Mapping[str, tuple[str, ...]]
Values = Mapping[str, JsonValue]
Inputs = dict[str, dict[str, JsonValue]]
"""By the skill that is given them."""


@dataclass(frozen=True, slots=True)
class _Member:
    """`needs`: as they are known in the chain."""

    skill: PublishedSkill
    entry: Entry
    needs: tuple[str, ...]


Members = Mapping[str, _Member]


def chained(snapshot: Snapshot, skill: str, params: Values) -> tuple[ChainStep, ...] | ToolError:
    """The steps that run `skill` with these parameters, each after those that it needs."""
    members = _members(snapshot, skill)
    if isinstance(members, ToolError):
        return members
    needs = {name: member.needs for name, member in members.items()}
    order = _in_order(needs)
    if isinstance(order, ToolError):
        return order
    asked = next(iter(members))
    inputs = _inputs(snapshot, members, order)
    if isinstance(inputs, ToolError):
        return inputs
    quotes = _quotes(members, inputs)
    if isinstance(quotes, ToolError):
        return quotes
    order = _in_order({name: (*needs[name], *quotes.get(name, ())) for name in members})
    if isinstance(order, ToolError):
        return order
    entry = members[asked].entry
    known = with_defaults(entry.parameters, params)
    try:
        given = {name: with_params(inputs.get(name, {}), known) for name in order}
    except UnresolvedReference as wrong:
        return misfits_told(asked, [str(wrong)])
    run = [name for name in order if members[name].entry.script]
    steps = tuple(_step(members, name, quotes.get(name, ()), given[name], entry) for name in run)
    return misfit(entry, asked, steps, params, _quoted_params(inputs)) or steps


def _members(snapshot: Snapshot, skill: str) -> Members | ToolError:
    """The skill itself first."""
    members: dict[str, _Member] = {}
    ahead = deque([(skill, "")])
    while ahead:
        name, wanted_by = ahead.popleft()
        found = snapshot.find(name)
        if found is None or not found.eligible or found.entry is None:
            return _unrunnable(snapshot, name, found, f", on which {wanted_by!r} depends," if wanted_by else "")
        label = _label(snapshot, name)
        if label in members:
            continue
        if len(members) == MAX_STEPS:
            message = f"The skill {skill!r} depends on more than {MAX_STEPS - 1} others."
            return ToolError(error="chain_too_long", message=message, fix="Run parts of it one after the other.")
        needs = tuple(dict.fromkeys(_label(snapshot, one) for one in found.entry.dependencies))
        members[label] = _Member(found, found.entry, needs)
        ahead += [(one, label) for one in found.entry.dependencies]
    return members


def _unrunnable(snapshot: Snapshot, name: str, found: PublishedSkill | None, place: str) -> ToolError:
    if found is None:
        message = f"There is no skill {name!r}{place and place.rstrip(',')}."
        return ToolError(error="unknown_skill", message=message, fix=_runnable(snapshot))
    if not found.eligible:
        message = f"The skill {name!r}{place} cannot run on any worker: {found.reason.rstrip('.')}."
        return ToolError(error="skill_not_eligible", message=message, fix="Mend that, or run another skill.")
    return ToolError(
        error="skill_not_runnable",
        message=f"The skill {name!r}{place} cannot run without a model: it does not say which script that would be.",
        fix="Let its author name one as metadata.skillfleet.entry, or submit a prompt that uses the skill.",
    )


def _runnable(snapshot: Snapshot) -> str:
    able = (one for one in snapshot.skills if one.eligible and one.entry is not None and not one.hidden)
    names = list(dict.fromkeys(one.name for one in able))
    more = f" and {len(names) - NAMED_SKILLS} more" if len(names) > NAMED_SKILLS else ""
    listed = ", ".join(names[:NAMED_SKILLS]) + more
    return f"These run without a model: {listed}." if names else "None runs without a model here."


def _label(snapshot: Snapshot, reference: str) -> str:
    """One name for one skill: with its version where the name alone stands for another."""
    found = snapshot.find(reference)
    if found is None:
        return reference
    return found.name if snapshot.find(found.name) == found else f"{found.name}{SEPARATOR}{found.version}"


def _in_order(graph: Graph) -> tuple[str, ...] | ToolError:
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as found:
        cycle = " -> ".join(reversed(found.args[1]))  # graphlib names what is needed first
        return ToolError(
            error="dependency_cycle",
            message=f"These skills need each other, in a circle: {cycle}.",
            fix="Let their authors take one of these dependencies, or inputs that quote such a step, away.",
        )


def _inputs(snapshot: Snapshot, members: Members, order: tuple[str, ...]) -> Inputs | ToolError:
    """What each is given by those that need it, and by itself; of several the skill that was asked for decides."""
    inputs: Inputs = {}
    for giver in order:
        for reference, values in members[giver].entry.inputs.items():
            name = _label(snapshot, reference)
            if name != giver and name not in _needed(members, giver):
                message = f"The skill {giver!r} has inputs for {reference!r}, which it does not depend on."
                return ToolError(error="chain_inputs", message=message, fix="Let its author name it in dependencies.")
            inputs.setdefault(name, {}).update(values)
    return inputs


def _needed(members: Members, name: str, *, of_scripts: bool = True) -> dict[str, None]:
    """All that it leads to; but for `of_scripts`: not what those lead to that have a script themselves."""
    found: dict[str, None] = {}
    ahead = deque(members[name].needs)
    while ahead:
        one = ahead.popleft()
        if one not in found:
            found[one] = None
            ahead += members[one].needs if of_scripts or not members[one].entry.script else ()
    return found


def _quotes(members: Members, inputs: Inputs) -> dict[str, tuple[str, ...]] | ToolError:
    """The steps whose output each quotes."""
    names = (*(name for name, member in members.items() if member.entry.script), PARAMS)
    found: dict[str, tuple[str, ...]] = {}
    for name, values in inputs.items():
        quotes = {reference: quoted(reference, names) for reference in references(dict(values))}
        wrong = next((reference for reference, step in quotes.items() if step in ("", name)), None)
        if wrong is not None:
            message = f"The inputs of {name!r} quote ${{{wrong}}}, which leads to no other step of the chain."
            fix = "Let its author quote a skill with a script that is in it, or params."
            return ToolError(error="chain_inputs", message=message, fix=fix)
        found[name] = tuple(dict.fromkeys(step for step in quotes.values() if step != PARAMS))
    return found


def _quoted_params(inputs: Inputs) -> set[str]:
    quotes = chain.from_iterable(references(dict(values)) for values in inputs.values())
    return {path.split(".")[0] for name, _, path in (quote.partition(".") for quote in quotes) if name == PARAMS}


def _step(members: Members, name: str, quotes: tuple[str, ...], inputs: Values, asked: Entry) -> ChainStep:
    member = members[name]
    needed = (one for one in _needed(members, name, of_scripts=False) if members[one].entry.script)
    own = member.entry.parameters
    return ChainStep(
        skill=name,
        version=member.skill.version,
        script=member.entry.script,
        parameters=own if asked.script else redefaulted(own, asked.parameters),
        after=tuple(dict.fromkeys((*needed, *quotes))),
        inputs=dict(inputs),
        topic=member.entry.topic,
    )
