"""The skills of a snapshot as a model is told of them (pure)."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from skillfleet_workers.wire.contract import LIST_SKILLS, Governing
from skillfleet_workers.wire.published import PublishedSkill, Snapshot
from skillfleet_workers.wire.versions import split

from ..conversations.runs import ActivatedSkill

LEAST_CHARS = 24
"""A description that would be shorter is left out: it tells nothing."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Names and descriptions of skills, for the system prompt; empty: there are none. `omitted`: how many had no
    room in it."""

    text: str = ""
    omitted: int = 0


def catalog_of(snapshot: Snapshot, allowed: tuple[str, ...] | None, budget: int) -> Catalog:
    """Of the skills that models may find and workers can run, each name once. What is longer than `budget`
    characters has shorter descriptions, else none, else fewer skills.

    `allowed`: the only names that the conversation may use."""
    skills = _listed(snapshot, allowed)
    longest = max((len(skill.description) for skill in skills), default=0)
    if len(whole := _rendered(skills, longest)) <= budget:
        return Catalog(whole)
    limits = range(LEAST_CHARS, longest + 1)
    if fitting := bisect_right(limits, budget, key=lambda limit: len(_rendered(skills, limit))):
        return Catalog(_rendered(skills, limits[fitting - 1]))
    if len(names := _rendered(skills, 0)) <= budget:
        return Catalog(names)
    counts = range(1, len(skills))
    count = bisect_right(counts, budget, key=lambda count: len(_rendered(skills[:count], 0, len(skills) - count)))
    omitted = len(skills) - count
    return Catalog(_rendered(skills[:count], 0, omitted) if count else "", omitted)


def still_stands(activated: Iterable[ActivatedSkill], name: str, snapshot: Snapshot | None) -> Governing | None:
    """The skill of that name, if it was activated in the state in which it is now. One that the snapshot does not
    know came after it, and was activated as it is; or it went before this conversation began."""
    now = snapshot.find(name) if snapshot else None
    bare, version = split(name)
    state = (now.version, now.digest) if now else (version, "")
    known = (one for one in activated if one.governing.skill == bare and (now or snapshot is None or one.turn))
    return next((one.governing for one in known if _is_in(one.governing, *state)), None)


def _is_in(governing: Governing, version: str, digest: str) -> bool:
    """What is not known is taken for the same."""
    pairs = ((governing.version, version), (governing.digest, digest))
    return all(then == now or not (then and now) for then, now in pairs)


def _listed(snapshot: Snapshot, allowed: tuple[str, ...] | None) -> list[PublishedSkill]:
    """Sorted by name; of each the one that its name stands for."""
    names = sorted({one.name for one in snapshot.skills if allowed is None or one.name in allowed})
    return [
        one.model_copy(update={"description": " ".join(one.description.split())})
        for name in names
        if (one := snapshot.find(name)) and one.eligible and not one.hidden
    ]


def _rendered(skills: Sequence[PublishedSkill], limit: int, omitted: int = 0) -> str:
    """`limit`: most characters of a description; 0: without."""
    if not skills:
        return ""
    entries = "\n".join(_entry(skill, limit) for skill in skills)
    more = f"\nand {omitted} more: {LIST_SKILLS.tool}" if omitted else ""
    return f"<available_skills>\n{entries}\n</available_skills>{more}"


def _entry(skill: PublishedSkill, limit: int) -> str:
    told = {"name": skill.name, "description": _shortened(skill.description, limit), "location": skill.location}
    parts = (f"<{part}>{escape(text)}</{part}>" for part, text in told.items() if text)
    return f"<skill>{''.join(parts)}</skill>"


def _shortened(text: str, limit: int) -> str:
    """At the end of a word, where there is one."""
    if len(text) <= limit or not limit:
        return text if limit else ""
    head = text[: limit - 1]
    whole = head if text[limit - 1] == " " else head.rpartition(" ")[0] or head
    return f"{whole.rstrip()}…"
