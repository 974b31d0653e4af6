"""What goes wrong in one run: each seed has kinds of trouble that it knows and kinds that it never sees."""

from dataclasses import dataclass, fields
from random import Random


@dataclass(frozen=True, slots=True)
class Weather:
    """Probabilities per occasion; counts per run. An occasion is a process' call to redis, before or after it."""

    orchestrator_dies: float = 0.0
    orchestrator_stops: float = 0.0
    slow: float = 0.0
    answer_lost: float = 0.0
    bell_lost: float = 0.0
    message_lost: float = 0.0
    message_twice: float = 0.0
    message_late: float = 0.0
    worker_dies: float = 0.0
    worker_stops: float = 0.0
    sandbox_dies: float = 0.0
    model_slow: float = 0.0
    model_hangs: float = 0.0
    outages: int = 0
    flushes: int = 0
    handovers: int = 0
    changes: int = 0


WORST = Weather(
    orchestrator_dies=0.03,
    orchestrator_stops=0.02,
    slow=0.5,
    answer_lost=0.03,
    bell_lost=0.5,
    message_lost=0.3,
    message_twice=0.3,
    message_late=0.3,
    worker_dies=0.08,
    worker_stops=0.15,
    sandbox_dies=0.15,
    model_slow=0.2,
    model_hangs=0.02,
    outages=3,
    flushes=3,
    handovers=3,
    changes=3,
)


def forecast(random: Random) -> Weather:
    """About half of all kinds of trouble, each up to its worst."""
    drawn: dict[str, float | int] = {}
    for kind in fields(Weather):
        worst = getattr(WORST, kind.name)
        if random.random() < 0.5:
            drawn[kind.name] = random.randint(0, worst) if isinstance(worst, int) else worst * random.random()
    return Weather(**drawn)  # type: ignore[arg-type]
