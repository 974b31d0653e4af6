"""A small fleet that works while one fault is done to it; then all must end well."""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import redis
from tests.system.fleet import wait_for

from ..crew import Crew, manned
from ..ours import Ours
from ..roll import Roll
from .scenario import Verdict

PATIENCE_S = 90.0
SCRIPT_S, MODEL_S = 0.2, 0.2


@dataclass(frozen=True, slots=True)
class Siege:
    crew: Crew
    side: Ours
    roll: Roll
    verdict: Verdict

    def submit(self, count: int, *, script_s: float = SCRIPT_S, model_s: float = MODEL_S) -> None:
        self.side.submit(count, self.side.model(script_s, model_s))

    def in_the_midst(self) -> None:
        """Until scripts run."""
        wait_for(self.roll.running, "scripts run")

    def all_end(self) -> None:
        """And well."""
        began = time.monotonic()
        wait_for(self.all_ended, "all conversations have ended", PATIENCE_S)
        self.verdict.facts.append(f"all ended {time.monotonic() - began:.1f} s after the fault")
        found = self.side.outcome([])
        self.verdict.facts.append(
            f"{found.answered} of {found.conversations} answered, {found.results} results, {found.starts} starts, "
            f"longest silence {max(found.silences):.1f} s"
        )
        self.verdict.violations += found.violations

    def all_ended(self) -> bool:
        with contextlib.suppress(redis.RedisError):
            return self.side.ended() == len(self.side.ids)
        return False


@contextlib.contextmanager
def meanwhile(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """Beside what goes on, again and again; what it raises is raised here at the end."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(every_s):
            look()

    with ThreadPoolExecutor(1) as beside:
        done = beside.submit(work)
        try:
            yield
        finally:
            over.set()
        done.result()


@contextlib.contextmanager
def besieged(
    *,
    orchestrators: int = 2,
    workers: int = 2,
    through: Callable[[Crew], str] | None = None,
    envs: Sequence[Mapping[str, str]] = ({},),
    script: Callable[[Roll], str] | None = None,
) -> Iterator[Siege]:
    """`through`: gives the URL by which the fleet reaches redis; the harness itself goes straight. `script`: what
    `lab/scripts/tool.py` is."""
    verdict = Verdict()
    scratch = tempfile.TemporaryDirectory(prefix="sf-", dir="/tmp")
    with scratch as folder, Roll() as roll, manned(Path(folder)) as crew:
        if script:
            scripts = crew.place.skills / "lab" / "scripts"
            scripts.mkdir()
            (scripts / "tool.py").write_text(script(roll))
        direct = crew.place.variables["SKILLFLEET_REDIS_URL"]
        if through:
            crew.place.variables["SKILLFLEET_REDIS_URL"] = through(crew)
        side = Ours(crew, roll, orchestrators=orchestrators, workers=workers, envs=envs)
        crew.place.variables["SKILLFLEET_REDIS_URL"] = direct
        yield Siege(crew, side.straight(), roll, verdict)
    verdict.violations += crew.deserters
