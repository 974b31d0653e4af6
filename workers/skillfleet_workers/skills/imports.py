"""What a skill's scripts import, found by parsing them: what a warm interpreter should have loaded already."""

import ast
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ..wire.contract import ToolError
from .models import Skill
from .paths import open_inside
from .script_files import Stamp, folders_beside, has_module, script_files

MOST_MODULES = 64
MOST_NAME = 100
MOST_SOURCE_BYTES = 262_144
NEVER = frozenset({"__future__", "__main__", "antigravity", "this", "idlelib", "test", "tkinter", "turtle"})
"""Their import does something else than to define things."""


def imports_of(source: str) -> frozenset[str]:
    """The modules of all import statements, wherever they stand; of `from a import b` also `a.b`: it may be one."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(filter(_may_be_loaded, _imported(tree)))


def _may_be_loaded(name: str) -> bool:
    parts = name.split(".")
    return len(name) <= MOST_NAME and name.isascii() and parts[0] not in NEVER and parts[-1] != "__main__"


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name.islower())


class SkillImports:
    """Remembers, for every skill, what its scripts import and what those do that were written for it. Thread safe."""

    def __init__(self) -> None:
        self._seen: dict[Path, frozenset[str]] = {}
        self._lock = threading.Lock()

    def of(self, skill: Skill, source: str | None) -> tuple[str, ...]:
        """What to load ahead, in an order that does not change; `source`: of the script that will run."""
        scripts = dict(script_files(skill.root))
        found = frozenset[str]().union(
            *(_imports_of_file(skill.root, path, stamp) for path, stamp in scripts.items() if path.endswith(".py"))
        )
        if source is not None and len(source) <= MOST_SOURCE_BYTES:
            found |= imports_of(source)
        with self._lock:
            known = self._seen.get(skill.root, frozenset()) | found
            if len(known) > MOST_MODULES:
                known = found
            self._seen[skill.root] = known
        own = folders_beside(skill.root, scripts)  # what lies there may change between two runs
        foreign = (name for name in sorted(known) if not has_module(own, name.partition(".")[0]))
        return tuple(dict.fromkeys((*skill.preload, *foreign)))[:MOST_MODULES]


@lru_cache(maxsize=4096)
def _imports_of_file(root: Path, path: str, _stamp: Stamp) -> frozenset[str]:
    file = open_inside(root, path)
    if isinstance(file, ToolError):
        return frozenset()
    with file:
        return imports_of(file.read(MOST_SOURCE_BYTES).decode("utf-8", "replace"))
