"""A long queue: how fast it is accepted, what it costs, and what is still quick while it waits."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from skillfleet.app import make_ledger
from skillfleet.conversations.ledger import Claim
from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet.fleet import Fleet

from ..execution.latency import elapsed_ms
from ..fleet import BenchError
from ..measure import at_most, heading, row, summary
from .deployment import PROMPT, Deployment, until
from .meter import Meter

SINGLES = 200
TIMES = 30
ANSWER_MS = 100.0
BUSY_S = 3600.0
"""The model of the one slot: what is submitted meanwhile stays queued."""


def backlog(count: int) -> None:
    heading(f"{count} queued conversations, while the one slot of the only orchestrator is taken")
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as folder, Deployment(Path(folder), 1) as fleet:
        model = fleet.scripted(0, BUSY_S)
        (busy,) = fleet.submit(model, 1)
        until(lambda: fleet.fleet.status(busy).status == "running", "the only slot was not taken")
        ledger = make_ledger(fleet.settings)
        stored, meter = fleet.redis_bytes(), Meter(ledger.client)
        single = _single_rate(fleet.fleet, model)
        few = _claims(ledger)
        meter.lap()
        batch, written = _batch_rate(fleet, model, count - SINGLES), meter.lap().written / (count - SINGLES)
        print(f"  {'submitted one by one':<28}{single:>9.0f} /s")
        print(f"  {f'{count - SINGLES} as a batch':<28}{batch:>9.0f} /s")
        each = (fleet.redis_bytes() - stored) / count
        print(f"  {'redis memory of each':<28}{each / 1024:>9.1f} KiB    ({written / 1024:.1f} KiB sent to redis)")
        print(row(f"a claim with {SINGLES} queued", summary(few), "ms"))
        print(row(f"a claim with {count} queued", summary(_claims(ledger)), "ms"))
        _print_lookups(fleet.fleet, busy)


def _single_rate(fleet: Fleet, model: str) -> float:
    began = time.perf_counter()
    for _ in range(SINGLES):
        fleet.submit(PROMPT, model=model)
    return SINGLES / (time.perf_counter() - began)


def _batch_rate(fleet: Deployment, model: str, count: int) -> float:
    began = time.perf_counter()
    fleet.submit(model, count)
    return count / (time.perf_counter() - began)


def _claims(ledger: RedisLedger) -> list[float]:
    """Milliseconds each; what was claimed is handed back."""
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        claim = ledger.claim()
        took.append((time.perf_counter() - began) * 1000)
        if not isinstance(claim, Claim):
            raise BenchError("nothing was due of a long queue")
        ledger.release(claim.conversation.id, claim.fence)
    return took


def _print_lookups(fleet: Fleet, running: str) -> None:
    newest = fleet.list(1)[0].id
    lookups: dict[str, Callable[[], object]] = {
        "Fleet.list, the newest 20": fleet.list,
        "Fleet.status, queued": lambda: fleet.status(newest),
        "Fleet.status, running": lambda: fleet.status(running),
    }
    for name, look in lookups.items():
        found = summary([elapsed_ms(look) for _ in range(TIMES)])
        print(row(name, found, "ms"))
        print(at_most(f"{name}, median", found.median, ANSWER_MS, " ms"))
