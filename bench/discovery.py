"""Finding and reading skills, beside seed 001's published library in a process of its own."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.paths import document
from skillfleet_workers.skills.scripts import scripts_of
from skillfleet_workers.skills.watching import Watching
from skillfleet_workers.wire.contract import Document

from .execution.ours import cache_folder
from .execution.skillkit import REQUIREMENTS, SkillkitMissingError
from .fleet import BenchError
from .measure import Case, at_most, better_by, heading, interleaved, row, summary

CHILD = Path(__file__).with_name("discovery_child.py")
SKILLS = 1_000
SCRIPTS = 50
BIG, MANY = "skill-0000", "skill-0001"
BIG_BYTES = 1_048_576
SETTLED_S = 0.2
"""What was written just now is looked at again, as clocks of file systems tick."""

AIMS_MS = {"cold": 1_000.0, "warm": 50.0, "get": 500.0, "scripts": 10.0}
TITLES = {
    "cold": f"list_skills of {SKILLS} folders for the first time",
    "warm": f"list_skills of {SKILLS} folders again; the peer does not look whether anything has changed",
    "get": "get_skill of a SKILL.md of 1 MB, read on to its end in pieces of 32 KB; the peer gives it whole",
    "scripts": f"detection of {SCRIPTS} scripts, all of which have changed",
}
OURS, WATCHED, PEER = "ours", "ours, watching", "seed 001's library"
ROUNDS, QUICK_ROUNDS = 15, 5


def discovery(*, quick: bool) -> None:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, ExitStack() as stack:
        root = Path(folder, "skills")
        write_skills(root)
        watching = Watching([root])
        ours = Ours(root, watching)
        peer = _peer(root, stack)
        for part, title in TITLES.items():
            heading(f"{title} (ms)")
            if part == "warm":  # each file that is opened for the first list would be told of
                stack.enter_context(watching)
            before = ours.touch if part == "scripts" else None
            cases: dict[str, Case] = {OURS: _timed(ours.parts[part], before)}
            if part == "warm":
                cases[WATCHED] = _timed(ours.list_watched)
            if peer:
                cases[PEER] = peer.timed(part)
            _print(part, interleaved(cases, rounds))


def _print(part: str, samples: Mapping[str, list[float]]) -> None:
    found = {name: summary(each) for name, each in samples.items()}
    for name, each in found.items():
        ratio = f"  {better_by(each, found[PEER]):.2f} times as fast" if PEER in found and name != PEER else ""
        print(row(name, each, "ms", ratio))
    print(at_most("the median, ms", found[OURS].median, AIMS_MS[part]))


class Ours:
    def __init__(self, root: Path, watching: Watching) -> None:
        self._root = root
        self._looking = SkillCatalog(root)
        self._watched = SkillCatalog(root, watching=watching)
        self._many = self._find(MANY)
        self.parts: Mapping[str, Callable[[], object]] = {
            "cold": lambda: self._count(SkillCatalog(root)),
            "warm": lambda: self._count(self._looking),
            "get": self._get,
            "scripts": self._detect,
        }

    def list_watched(self) -> None:
        self._count(self._watched)

    def _count(self, catalog: SkillCatalog) -> None:
        if len(catalog.list()) != SKILLS:
            raise BenchError(f"there are {SKILLS} skills, but others are listed")

    def _get(self) -> None:
        """As the tool does it, again and again."""
        offset: int | None = 0
        while offset is not None:
            piece = document(self._find(BIG), None, offset)
            if not isinstance(piece, Document) or piece.total_bytes < BIG_BYTES - 100:
                raise BenchError("the documentation is not read")
            offset = piece.next_offset

    def touch(self) -> None:
        for script in (self._root / MANY / "scripts").iterdir():
            script.touch()

    def _detect(self) -> None:
        if len(scripts_of(self._many)) != SCRIPTS:
            raise BenchError(f"there are {SCRIPTS} scripts, but others are found")

    def _find(self, name: str) -> Skill:
        found = self._watched.find(name)
        if not isinstance(found, Skill):
            raise BenchError(found.message)
        return found


class Skillkit:
    """Measured in its own process: what it takes to ask it is not counted."""

    def __init__(self, root: Path) -> None:
        """Raises: SkillkitMissingError."""
        environments = Environments(cache_folder() / "environments")
        interpreter = environments.interpreter_for(Skill("skillkit", root, requirements=REQUIREMENTS))
        if not isinstance(interpreter, Path):
            raise SkillkitMissingError(interpreter.message)
        self._process = subprocess.Popen(
            [interpreter, "-P", CHILD, root, BIG, MANY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def timed(self, part: str) -> Case:
        return lambda: [self._ask(part)]

    def _ask(self, part: str) -> float:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{part}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _peer(root: Path, stack: ExitStack) -> Skillkit | None:
    try:
        return stack.enter_context(Skillkit(root))
    except SkillkitMissingError as missing:
        print(f"  without {PEER}: {missing}")
        return None


def _timed(action: Callable[[], object], before: Callable[[], object] | None = None) -> Case:
    def once() -> list[float]:
        if before:
            before()
        start = time.perf_counter()
        action()
        return [(time.perf_counter() - start) * 1000]

    return once


def write_skills(root: Path) -> None:
    for number in range(SKILLS):
        name = f"skill-{number:04}"
        folder = root / name
        (folder / "scripts").mkdir(parents=True)
        head = (
            f"---\nname: {name}\ndescription: Does task {number}. Use it when that is asked for.\nlicense: MIT\n---\n"
        )
        (folder / "SKILL.md").write_text(f"{head}\n# {name}\n\nHow to do it.\n")
    with (root / BIG / "SKILL.md").open("a") as file:
        file.write("A line of the documentation, like many others.\n" * (BIG_BYTES // 47))
    for number in range(SCRIPTS):
        (root / MANY / "scripts" / f"script_{number}.py").write_text(f'"""Does {number}."""\nprint({number})\n')
    time.sleep(SETTLED_S)
