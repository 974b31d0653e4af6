"""What one file says of a skill, and where each of its values stands (pure)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..wire.shown import short
from .problems import Problem, problem
from .yaml_trees import YamlTree


@dataclass(frozen=True, slots=True)
class Source:
    """`tree`: of the same fields, for their lines; without one they have none. `problems` grow as it is read."""

    file: str
    fields: Mapping[str, Any]
    tree: YamlTree = field(default_factory=YamlTree)
    problems: list[Problem] = field(default_factory=list)

    def said(self, place: str) -> "Said | None":
        """What stands at a place such as `metadata.version`; None: nothing, or no value."""
        value: Any = self.fields
        path = tuple(place.split("."))
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return None if value is None or value == "" else Said(value, path, self)

    def first(self, places: Iterable[str]) -> "Said | None":
        return next((said for place in places if (said := self.said(place))), None)

    def wrong(self, code: str, message: str, path: tuple[str, ...] = ()) -> None:
        self.problems.append(problem(code, message, self.file, self.tree.line_of(path)))


@dataclass(frozen=True, slots=True)
class Said:
    """One value of a source. Of YAML it is a text, a list or a map; of JSON it may be a number or a boolean too."""

    value: Any
    path: tuple[str, ...]
    source: Source

    @property
    def key(self) -> str:
        return self.path[-1]

    @property
    def typed(self) -> Any:
        """Raises: TooManyValuesError"""
        if self.source.tree.root is None:
            return self.value
        return self.source.tree.typed(self.path)

    def wrong(self, code: str, message: str) -> None:
        self.source.wrong(code, message, self.path)

    def part(self, name: str) -> "Said | None":
        return self.source.said(".".join((*self.path, name)))


Reader = Callable[[Said], Any]
"""The value as the model has it; None: it is not to be used, and the reader has told why."""


def shown(value: object) -> str:
    # YAML aliases make small values whose repr is endless.
    return repr(short(value)) if isinstance(value, str | int | float) else "no text"
