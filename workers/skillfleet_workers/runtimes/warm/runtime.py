"""Sandboxed runs: a Python script as a fork of a warm interpreter, anything else as a program of its own."""

import logging
import time
from dataclasses import replace
from pathlib import Path

from ...wire.execution import Isolation, ScriptExecution
from ..base import RunRequest
from ..cgroups import Cgroups
from ..handover import described
from ..resident import Resident
from .channel import NotUpError
from .interpreter import WarmInterpreter
from .leased_run import last_moment, run_leased
from .pool import Pool
from .recipe import recipe_for
from .starts import PRELOAD_AGAIN_S

KEPT_OUT = "{folder}: its mode keeps out the user that a sandbox of root's runs scripts as: chmod -R o+rX {folder}"
log = logging.getLogger(__name__)

COLD_NAME = "process"
"""What a run is told to be that is no fork of a warm interpreter."""

STARTS = 3
"""Of a warm interpreter that does not come up, before it is given up."""


class WarmRuntime:
    """Every run has processes, mounts, /tmp and IPC of its own, in a sandbox without network. Thread safe."""

    name = "warm"
    isolation: Isolation = "sandbox"

    def __init__(
        self,
        cgroups: Cgroups | None,
        user: int | None,
        budget_mb: int = 1024,
        again_s: float = PRELOAD_AGAIN_S,
    ) -> None:
        """`again_s`: after which what could not be kept warm, or not be imported ahead, is tried again."""
        self._user = user
        self._again_s = again_s
        self._cold: dict[object, float] = {}
        """Until when what of that identity is started anew for every run."""
        self._resident = Resident(cgroups.own_prefixes if cgroups else ())
        self._pool = Pool(
            lambda recipe: WarmInterpreter(recipe, self._resident, cgroups, user), budget_mb << 20, again_s
        )

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
            if self._cold.get(recipe.identities, 0.0) > time.monotonic():
                recipe = recipe_for(replace(request, fresh_interpreter=True))
        except OSError as wrong:
            return ScriptExecution(status="failed", error=f"{wrong.strerror}: {wrong.filename}", **facts)
        if self._user is not None and not _lets_others_in(request.skill_root):
            return ScriptExecution(status="failed", error=KEPT_OUT.format(folder=request.skill_root), **facts)
        if recipe.execs:
            facts["runtime"] = COLD_NAME
        give_up = last_moment(request)
        for _ in range(STARTS):  # one that is killed from outside while it starts says no more than one that can't
            try:
                return run_leased(request, recipe, self._pool, facts, give_up)
            except NotUpError as wrong:
                if recipe.execs:
                    raise
                why = wrong
        # An interpreter older than the program inside it, say; it can still be started for every run.
        log.warning("%s is not kept warm for %g s: %s", request.interpreter, self._again_s, why)
        self._cold[recipe.identities] = time.monotonic() + self._again_s
        cold = recipe_for(replace(request, fresh_interpreter=True))
        return run_leased(request, cold, self._pool, facts | {"runtime": COLD_NAME}, give_up)


def _lets_others_in(folder: Path) -> bool:
    return folder.stat().st_mode & 0o005 == 0o005
