"""Sandboxed runs: a Python script as a fork of a warm interpreter, anything else as a program of its own."""

from ...wire.execution import Isolation, ScriptExecution
from ..base import RunRequest
from ..cgroups import Cgroups
from ..handover import described
from ..resident import Resident
from .interpreter import WarmInterpreter
from .leased_run import run_leased
from .pool import Pool
from .recipe import recipe_for


class WarmRuntime:
    """Every run has processes, mounts, /tmp and IPC of its own, in a sandbox without network. Thread safe."""

    name = "warm"
    isolation: Isolation = "sandbox"

    def __init__(self, cgroups: Cgroups | None, user: int | None, budget_mb: int = 1024) -> None:
        self._resident = Resident(cgroups.own_prefixes if cgroups else ())
        self._pool = Pool(lambda recipe: WarmInterpreter(recipe, self._resident, cgroups, user), budget_mb << 20)

    def close(self) -> None:
        self._pool.close()
        self._resident.close()

    @property
    def pool(self) -> Pool:
        return self._pool

    def run(self, request: RunRequest) -> ScriptExecution:
        facts = described(request) | {"runtime": self.name, "isolation": self.isolation}
        try:
            recipe = recipe_for(request)
        except OSError as wrong:
            return ScriptExecution(status="failed", error=f"{wrong.strerror}: {wrong.filename}", **facts)
        if recipe.execs:
            facts["runtime"] = "process"
        return run_leased(request, recipe, self._pool, facts)
