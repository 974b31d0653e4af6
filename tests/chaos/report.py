"""The sides of a run under fire, in columns."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median

from .run import Ran

ROWS: tuple[tuple[str, Callable[[Ran], str]], ...] = (
    ("conversations", lambda ran: str(ran.outcome.conversations)),
    ("answered once, rightly", lambda ran: str(ran.outcome.answered)),
    ("lost: no answer in time", lambda ran: str(ran.outcome.lost)),
    ("answered more than once", lambda ran: str(ran.outcome.twice)),
    ("wrong answers", lambda ran: str(ran.outcome.wrong)),
    ("calls given up after three lost workers", lambda ran: str(ran.outcome.given_up)),
    ("results of calls", lambda ran: str(ran.outcome.results)),
    ("starts of scripts", lambda ran: str(ran.outcome.starts)),
    ("starts again of the same call", lambda ran: str(ran.outcome.extra_starts)),
    ("model turns asked again", lambda ran: _known(ran, str(ran.outcome.model_turns_again))),
    ("SIGKILLs: workers", lambda ran: str(ran.kills["worker"])),
    ("SIGKILLs: orchestrators", lambda ran: str(ran.kills["orchestrator"])),
    ("SIGKILLs: redis", lambda ran: str(ran.kills["redis"])),
    ("to recovery from a worker's death, s", lambda ran: _spread(ran.outcome.recoveries.get("worker", []))),
    ("... an orchestrator's", lambda ran: _spread(ran.outcome.recoveries.get("orchestrator", []))),
    ("... redis'", lambda ran: _spread(ran.outcome.recoveries.get("redis", []))),
    ("recovered within 10 s", lambda ran: _in_time(ran.outcome.recoveries.values())),
    ("longest silence outside of queues, s", lambda ran: _known(ran, f"{max(ran.outcome.silences, default=0):.1f}")),
    ("processes that ended by themselves", lambda ran: str(len(ran.deserters) + len(ran.giving_up))),
    ("seconds", lambda ran: f"{ran.took_s:.0f}"),
    ("conversations a second", lambda ran: f"{(ran.outcome.conversations - ran.outcome.lost) / ran.took_s:.1f}"),
)


def table(runs: Sequence[Ran]) -> str:
    lines = [f"{'':<42}" + "".join(f"{run.name:>22}" for run in runs)]
    lines += [f"{what:<42}" + "".join(f"{tell(run):>22}" for run in runs) for what, tell in ROWS]
    return "\n".join(lines)


def _known(ran: Ran, told: str) -> str:
    """What only a ledger can tell."""
    return told if ran.outcome.silences else "-"


def _in_time(recoveries: Iterable[Sequence[float]]) -> str:
    seconds = [one for some in recoveries for one in some]
    return f"{sum(one <= 10 for one in seconds)} of {len(seconds)}" if seconds else "-"


def _spread(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.1f}, worst {max(seconds):.1f}" if seconds else "-"
