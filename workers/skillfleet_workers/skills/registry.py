"""Skills and what they depend on (seed 002; pure)."""

from collections import deque
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from ..wire.versions import SEPARATOR, meant, order, split
from .errors import SkillNotFoundError
from .models import Skill


class DependencyCycleError(ValueError):
    """`cycle`: each depends on the next, and the last is the first."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        super().__init__(f"dependencies form a cycle: {' -> '.join(cycle)}")
        self.cycle = cycle


class MissingDependencyError(LookupError):
    """`missing`: as the skills that depend on them write them."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__(f"these dependencies are missing: {', '.join(missing)}")
        self.missing = missing


class Registry:
    """A skill is asked for as `name`, which is its highest version, or as `name@1.2.0`.

    What is returned is written like that too: with a version where it is not the highest.
    """

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self._skills: dict[str, dict[str, Skill]] = {}
        for skill in skills:
            self.register_skill(skill)

    def register_skill(self, skill: Skill) -> None:
        """In the place of one with the same name and version."""
        self._skills.setdefault(skill.name, {})[skill.version] = skill

    def get_skill(self, name: str, version: str | None = None) -> Skill:
        """Raises: SkillNotFoundError"""
        found = self._find(f"{split(name)[0]}{SEPARATOR}{version}" if version else name)
        if found is None:
            raise SkillNotFoundError(skill=name, reason=self._why_unknown(name))
        return found

    def list_skills(self, tags: Iterable[str] | None = None) -> list[Skill]:
        """Those with all of these tags, every version of them, by name, then by version."""
        wanted = set(tags or ())
        found = [skill for versions in self._skills.values() for skill in versions.values()]
        return sorted((it for it in found if wanted <= set(it.tags)), key=lambda it: (it.name, order(it.version)))

    @property
    def dependency_graph(self) -> dict[str, list[str]]:
        """Of every skill what it depends on directly; what is missing as it is written."""
        return {name: list(self._direct(name)) for name in map(self._label, self.list_skills())}

    def resolve_dependencies(self, name: str) -> list[str]:
        """The order in which to run them: what something depends on comes before it, the skill itself last.

        Raises:
            SkillNotFoundError
            MissingDependencyError
            DependencyCycleError
        """
        self.get_skill(name)
        return self.in_order([name])

    def in_order(self, names: Iterable[str]) -> list[str]:
        """These and all that they depend on, what something depends on before it.

        Raises:
            MissingDependencyError: one of these counts, too.
            DependencyCycleError
        """
        graph = self._reached(names)
        if missing := self._missing(graph):
            raise MissingDependencyError(missing)
        if cycle := _cycle(graph):
            raise DependencyCycleError(cycle)
        return list(TopologicalSorter(graph).static_order())

    def detect_cycles(self, name: str) -> tuple[str, ...]:
        """A cycle that its dependencies lead into: ("a", "b", "a"); empty: there is none.

        Raises:
            SkillNotFoundError
        """
        self.get_skill(name)
        return _cycle(self._reached([name]))

    def missing_dependencies(self, name: str) -> tuple[str, ...]:
        """Its own, and those of what it depends on, as they are written. Raises: SkillNotFoundError"""
        self.get_skill(name)
        return self._missing(self._reached([name]))

    def name_of(self, reference: str) -> str:
        """One name for one skill; what is missing keeps its own."""
        skill = self._find(reference)
        return self._label(skill) if skill else reference

    def _find(self, reference: str) -> Skill | None:
        name, version = split(reference)
        return meant(self._skills.get(name, {}).values(), version)

    def _label(self, skill: Skill) -> str:
        return skill.name if self._find(skill.name) is skill else f"{skill.name}{SEPARATOR}{skill.version}"

    def _direct(self, name: str) -> tuple[str, ...]:
        """Each once; none where the skill is missing."""
        skill = self._find(name)
        return tuple(dict.fromkeys(map(self.name_of, skill.dependencies))) if skill else ()

    def _reached(self, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """What they lead to, with what each depends on; nearest first."""
        graph: dict[str, tuple[str, ...]] = {}
        ahead = deque(map(self.name_of, names))
        while ahead:
            name = ahead.popleft()
            if name not in graph:
                graph[name] = self._direct(name)
                ahead += graph[name]
        return graph

    def _missing(self, graph: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(name for name in graph if self._find(name) is None)

    def _why_unknown(self, name: str) -> str:
        others = [skill.version for skill in self.list_skills() if skill.name == split(name)[0]]
        return f"it has the versions {', '.join(others)}" if others else "no skill has that name"


def _cycle(graph: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Begins with the skill of it that is met first."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        # graphlib names what is depended on first.
        ring = list(reversed(found.args[1]))[:-1]
        met = {name: place for place, name in enumerate(graph)}
        first = min(range(len(ring)), key=lambda place: met[ring[place]])
        return (*ring[first:], *ring[:first], ring[first])
    return ()
