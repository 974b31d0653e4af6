"""What a warm interpreter is made of: two requests whose recipes differ in their imports alone can be served by the
same one, for those are only a speed-up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...skills.script_files import has_module, module_folders
from ..base import Limits, Network, RunRequest

FIXED_AT_START = ("LANG", "LANGUAGE")
FIXED_PREFIXES = ("LC_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_", "NUMEXPR_", "LD_", "GLIBC_", "MALLOC_")
SET_LATER = ("PYTHONPATH",)

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMEXPR_NUM_THREADS": "1"}
"""A library that starts threads at its import can't be imported ahead: a fork has one thread."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """`variables`: of the environment, what an interpreter reads when it starts. `execs`: the runs are programs.

    `identities`: of the folders that it mounts; one that was replaced by another of its name is not the same.
    `bounds_heap`: such programs can live with a limit on their address space. `programs`: further folders that it
    shows. `image`: the id of the container
    image that has the interpreter; empty: the worker has it.
    """

    skill_root: Path
    interpreter: Path
    execs: bool
    imports: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    limits: Limits
    network: Network
    identities: tuple[tuple[int, int], ...]
    bounds_heap: bool
    image: str = ""
    programs: tuple[Path, ...] = ()

    @property
    def bare(self) -> "Recipe":
        """The same with nothing imported ahead."""
        return replace(self, imports=())

    def lacks(self, wanted: "Recipe") -> set[str]:
        """What a script of the wanted one has to import by itself in a fork of this one."""
        return set(wanted.imports) - set(self.imports)


def best_first(wanted: Recipe, offers: Sequence[Recipe]) -> list[int]:
    """The places of those offers that can serve, of equals the last first: least is missing, then least too much."""
    if same := [place for place, offer in enumerate(offers) if offer == wanted]:
        return same[::-1]
    kin = wanted.bare
    serving = [place for place, offer in enumerate(offers) if offer.bare == kin]
    return sorted(serving, key=lambda at: (len(offers[at].lacks(wanted)), len(wanted.lacks(offers[at])), -at))


def shadowed(wanted: Recipe, offer: Recipe) -> bool:
    """Whether scripts would find a module imported ahead that is now one of their skill's own: their recipe names
    none of those."""
    surplus = wanted.lacks(offer)
    own = module_folders(wanted.skill_root) if surplus else ()
    return any(has_module(own, name.partition(".")[0]) for name in surplus)


def recipe_for(request: RunRequest, image: str = "") -> Recipe:
    """Raises: OSError: the skill's folder or the interpreter is not there."""
    folders = [request.skill_root]
    if not image:
        request.interpreter.stat()
        folders.append(request.interpreter.parent.parent)
    execs = request.language != "python" or request.fresh_interpreter
    return Recipe(
        skill_root=request.skill_root,
        interpreter=request.interpreter,
        execs=execs,
        imports=() if execs else request.preload,
        variables=() if execs else tuple(sorted(fixed(request.environment).items())),
        limits=request.limits,
        network=request.network,
        identities=tuple(map(_identity, folders)),
        bounds_heap=request.language != "javascript",
        image=image,
        programs=() if image else request.programs,
    )


def _identity(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino


def fixed(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name in FIXED_AT_START or (name.startswith(FIXED_PREFIXES) and name not in SET_LATER)
    }
