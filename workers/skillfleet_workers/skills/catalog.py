"""The skills of all roots, read afresh whenever they change."""

import math
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..wire.contract import ToolError
from ..wire.shown import is_text, short
from ..wire.versions import SEPARATOR, meant, split
from .digests import Digests
from .kept import Kept
from .models import Skill, Skipped
from .precedence import Arranged, Shadowed, arranged
from .problems import Problem
from .reading import read_skill
from .rooted import Looked, Rooted
from .roots import Root, as_roots
from .watching import Watching

LOOKED_AGAIN_S = 0.1
"""Who asks for what is not there has all folders looked at, but not more often."""

NAMED_SKILLS = 100
"""Most names that a correction lists."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """All that was found at one look, under what `watching` said then."""

    looks: tuple[Looked, ...]
    skills: Arranged
    mark: int | None
    generation: int


class SkillCatalog:
    """Without `watching` every call looks at the stamps of all folders. `kept`: where skills are found in the state
    that a conversation began with. Safe to share between threads."""

    def __init__(
        self, roots: Path | Iterable[Root], *, watching: Watching | None = None, kept: Kept | None = None
    ) -> None:
        self._roots = [Rooted(root) for root in as_roots(roots)]
        self._watching, self._kept = watching, kept
        self._digests = Digests()
        self._digests_seen: dict[Path, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._seen: _Seen | None = None
        self._looked_at = -math.inf

    @property
    def roots(self) -> tuple[Root, ...]:
        return tuple(each.root for each in self._roots)

    def list(self, allowed: Collection[str] | None = None) -> tuple[Skill, ...]:
        """The highest version of each, sorted by name; `allowed` None: all."""
        if allowed is None:
            return self._now().skills.highest
        found = (
            meant((skill for skill in versions if _is_allowed(skill, allowed)), "")
            for versions in self._now().skills.versions.values()
        )
        return tuple(skill for skill in found if skill)

    @property
    def versions(self) -> tuple[Skill, ...]:
        """Every version of every skill, sorted by name, then by version."""
        return tuple(skill for versions in self._now().skills.versions.values() for skill in versions)

    @property
    def skips(self) -> tuple[Skipped, ...]:
        return self._now().skills.skips

    @property
    def skipped(self) -> Mapping[str, str]:
        """Folder name to the reason why it is no skill."""
        return {skip.name: skip.reason for skip in self._now().skills.skips}

    @property
    def shadowed(self) -> tuple[Shadowed, ...]:
        return self._now().skills.shadowed

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Of the roots, not of single skills."""
        return tuple(problem for look in self._now().looks for problem in look.problems)

    @property
    def generation(self) -> int:
        """As long as it stays the same, no file of a skill has changed. Without `watching` it never does."""
        return self._now().generation

    def find(self, name: str, allowed: Collection[str] | None = None, digest: str = "") -> Skill | ToolError:
        """`name`, the highest version of it, or `name@1.2.0`. With a digest: in that state, whatever it is now."""
        if not name or ".." in name or any(c in name for c in "/\\\0") or not is_text(name):
            return ToolError(
                error="invalid_skill_name",
                message=f"{short(name)!r} is no name of a skill.",
                fix="Use a name exactly as list_skills gives it.",
            )
        plain, version = split(name)
        seen = self._now()
        if self._watching and plain not in seen.skills.versions:
            seen = self._looked_again()
        versions = [skill for skill in seen.skills.versions.get(plain, ()) if _is_allowed(skill, allowed)]
        if digest and (versions or _may_be_allowed(plain, allowed)):
            return self._in_state(name, versions, allowed, digest)
        skill = meant(versions, version)
        if skill is not None:
            return skill
        may_use = allowed is None or name in allowed
        for skip in seen.skills.skips if may_use else ():
            if skip.name == plain and (not version or skip.root.name == name):
                return _not_readable(name, skip)
        return self._unknown(name, allowed)

    def _in_state(
        self, name: str, versions: Collection[Skill], allowed: Collection[str] | None, digest: str
    ) -> Skill | ToolError:
        """The copy, which never changes, where there is one; else what lies in the root, if it is still the same."""
        copy = self._kept.find(digest, name) if self._kept else None
        copied = _read_copy(copy) if copy else None
        if copied and _is_allowed(copied, allowed):
            return copied
        for skill in versions:
            if self.digest_of(skill) == digest:
                return skill
        return ToolError(
            error="skill_changed",
            message=f"The skill {short(name)!r} has changed since this conversation began.",
            fix="Do without it, or tell the user that a new conversation can use it as it is now.",
        )

    def digest_of(self, skill: Skill) -> str:
        """Of its folder as it is now; empty: it cannot be read."""
        generation = self._now().generation
        known = self._digests_seen.get(skill.root)
        if known is None or known[0] != generation:
            try:
                known = generation, self._digests.of(skill.root)
            except OSError:
                return ""
            self._digests_seen[skill.root] = known
        return known[1]

    def _now(self) -> _Seen:
        seen, mark = self._seen, self._mark()
        if seen is not None and mark is not None and seen.mark == mark:
            return seen
        with self._lock:
            mark = self._mark()
            if self._seen is None or mark is None or self._seen.mark != mark:
                self._seen = self._look(mark, self._seen.generation + 1 if self._seen else 1)
            return self._seen

    def _looked_again(self) -> _Seen:
        """For what nobody knows: it may have come so lately that the system has not told of it yet."""
        with self._lock:
            if time.monotonic() - self._looked_at > LOOKED_AGAIN_S:
                self._looked_at = time.monotonic()
                self._seen = self._look(self._mark(), self._seen.generation + 1 if self._seen else 1)
        return self._now()

    def _mark(self) -> int | None:
        return self._watching.mark if self._watching else None

    def _look(self, mark: int | None, generation: int) -> _Seen:
        looks = tuple(each.look() for each in self._roots)
        before = self._seen
        if before is not None and before.looks == looks:
            return replace(before, mark=mark, generation=generation)
        return _Seen(looks, arranged(look.read for look in looks), mark, generation)

    def _unknown(self, name: str, allowed: Collection[str] | None) -> ToolError:
        names = [skill.name for skill in self.list(allowed)]
        more = f" and {len(names) - NAMED_SKILLS} more" if len(names) > NAMED_SKILLS else ""
        listed = ", ".join(names[:NAMED_SKILLS])
        return ToolError(
            error="unknown_skill",
            message=f"There is no skill {short(name)!r}.",
            fix=f"Use one of: {listed}{more}" if names else "There are no skills: answer without them.",
        )


def _is_allowed(skill: Skill, allowed: Collection[str] | None) -> bool:
    return allowed is None or skill.name in allowed or f"{skill.name}{SEPARATOR}{skill.version}" in allowed


def _may_be_allowed(name: str, allowed: Collection[str] | None) -> bool:
    return allowed is None or any(split(each)[0] == name for each in allowed)


def _not_readable(name: str, skip: Skipped) -> ToolError:
    return ToolError(
        error="skill_not_readable",
        message=f"The skill {short(name)!r} cannot be used: {skip.reason}.",
        fix="Use another skill, or tell the user what is wrong with this one.",
    )


@lru_cache(maxsize=2_048)
def _read_copy(copy: Path) -> Skill | None:
    """A copy never changes."""
    try:
        read = read_skill(copy)
    except OSError:
        return None
    return read if isinstance(read, Skill) else None
