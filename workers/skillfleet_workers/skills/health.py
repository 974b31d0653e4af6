"""How the skills of one worker are (seed 003): learned from what really became of their calls."""

import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ..wire.contract import ToolError
from ..wire.execution import ScriptExecution
from ..wire.shown import short
from ..wire.versions import split
from .breaker import Breaker, Outcome, Recent
from .config_values import CONFIG_INVALID
from .models import Skill
from .outcomes import detail_of, found_environment, outcome_of

State = Literal["healthy", "degraded", "temporaryFailure", "permanentFailure"]


@dataclass(slots=True)
class _Health:
    """`last`: what the last run that broke did; `no_environment`: the last run that told found none."""

    mark: str = ""
    breaker: Breaker = field(default_factory=Breaker)
    recent: Recent = field(default_factory=Recent)
    last: str = ""
    no_environment: bool = False

    @property
    def state(self) -> State:
        if self.breaker.given_up:
            return "permanentFailure"
        if self.breaker.open_until is not None:
            return "temporaryFailure"
        return "degraded" if self.recent.unreliable or self.recent.slow else "healthy"


class HealthBoard:
    """Of one worker: what is broken here may be whole elsewhere. `now` and `began` are seconds of one clock that is
    never set back. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, _Health] = {}

    def refusal(self, skill_name: str, now: float) -> ToolError | None:
        """None: the call may run, and what becomes of it must be told by `record` or `observe`."""
        with self._lock:
            health = self._known.get(skill_name)
            if health is None:
                return None
            if health.breaker.admits(now):
                health.breaker = health.breaker.admitted(now)
                return None
            return _refused(skill_name, health, now)

    def record(
        self,
        skill_name: str,
        outcome: Outcome | None,
        detail: str,
        ms: float,
        now: float,
        *,
        timeout_s: float = 0.0,
        began: float | None = None,
        environment: bool | None = None,
    ) -> None:
        """A call has ended. Outcome None: nothing can be learned from it. `detail`: what it did, shown to whoever is
        refused later; `ms` of `timeout_s` (0: no limit) is what it took; `began`: `now` of its `refusal`;
        `environment`: whether it found one to run in (None: not known)."""
        with self._lock:
            health = self._known.setdefault(skill_name, _Health())
            # A model's own code tells nothing of the skill's scripts, but it does tell that an environment is back.
            mended = outcome is None and environment and health.no_environment
            told: Outcome | None = "ok" if mended else outcome
            health.breaker = health.breaker.after(told, now, now - ms / 1000 if began is None else began)
            if environment is not None:
                health.no_environment = not environment
            if outcome is not None:
                share = ms / 1000 / timeout_s if timeout_s else None
                health.recent = health.recent.after(outcome == "ok", share)
            if outcome == "broke":
                health.last = detail

    def observe(
        self,
        skill_name: str,
        result: ScriptExecution | ToolError,
        began: float,
        now: float,
        *,
        own_script: bool,
        own_environment: bool = True,
        own_timeout: bool = True,
    ) -> None:
        """`record` of what a call came to; for the flags see `outcome_of`."""
        flags = {"own_script": own_script, "own_environment": own_environment, "own_timeout": own_timeout}
        outcome = outcome_of(result, **flags)
        ran = result if isinstance(result, ScriptExecution) else None
        self.record(
            skill_name, outcome, detail_of(result), ran.execution_time_ms if ran else 0.0, now,
            timeout_s=ran.timeout if ran and own_timeout else 0.0, began=began,
            environment=found_environment(result) if own_environment else None,
        )  # fmt: skip

    def state(self, name: str) -> State:
        with self._lock:
            health = self._known.get(name)
            return health.state if health else "healthy"

    def states(self, skills: Iterable[Skill] = ()) -> dict[str, State]:
        """Of those that are not healthy, by name; one of `skills` whose configuration does not fit is no better than
        degraded."""
        misfits = (skill.name for skill in skills if any(it.code == CONFIG_INVALID for it in skill.problems))
        found: dict[str, State] = dict.fromkeys(misfits, "degraded")
        with self._lock:
            found |= {name: it.state for name, it in self._known.items() if it.state != "healthy"}
        return dict(sorted(found.items()))

    def reset(self, name: str) -> None:
        """Forget all that was learned of it."""
        with self._lock:
            self._known.pop(name, None)

    def renew(self, name: str, mark: str) -> None:
        """Forget what was learned of it under another mark: of other files, or before somebody turned it on again."""
        with self._lock:
            if self._known.setdefault(name, _Health(mark)).mark != mark:
                self._known[name] = _Health(mark)


def _refused(name: str, health: _Health, now: float) -> ToolError:
    shown = short(name)
    if health.breaker.given_up:
        what = "is not run on this worker any more"
        fix = f"Use another skill; the user can mend it and run `skillfleet skills enable {split(shown)[0]}`."
    else:
        wait = math.ceil((health.breaker.open_until or now) - now)
        what = "is not run on this worker for now"
        when = f"in {wait} s" if wait > 0 else "in a moment, as another call is trying it now"
        fix = f"Use another skill, or try again {when}."
    return ToolError(
        error="skill_unavailable",
        message=f"The skill {shown!r} {what} ({health.state}): it broke time and again; its last run {health.last}.",
        fix=fix,
    )
