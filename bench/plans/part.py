"""A chain and a fan of tools that do nothing: our plans, a Celery canvas, and Dask's tasks, in one run."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from skillfleet.local.children import Children
from skillfleet_workers.environments.build import Environments

from ..execution.ours import cache_folder
from ..measure import Summary, at_most, heading, interleaved, row, summary
from ..peer import Peer, PeerMissingError
from ..scale.deployment import TOOL_SLOTS, Deployment
from .canvas import Canvas
from .kills import killed
from .ours import Plans, write_skill

DASK = Path(__file__).with_name("dask_child.py")
OURS, SCRIPT, BARE = "skillfleet: a script each", "canvas: a script each", "canvas: bare tasks"
SHAPES = ("chain", "fan")


@dataclass(frozen=True, slots=True)
class Size:
    rounds: int
    chain: int
    fan: int
    kills: int

    def of(self, shape: str) -> int:
        return self.chain if shape == "chain" else self.fan


FULL, QUICK = Size(5, 100, 500, 10), Size(2, 30, 100, 2)


def plans(*, quick: bool) -> None:
    size = QUICK if quick else FULL
    heading(f"Plans: tools that do nothing, {TOOL_SLOTS} tool slots on each side, redis with fsync always")
    with tempfile.TemporaryDirectory(prefix="skillfleet-bench-") as name, ExitStack() as stack:
        deployment = Deployment(Path(name), TOOL_SLOTS)
        write_skill(deployment)
        stack.enter_context(deployment)
        children = Children()
        stack.callback(children.stop)
        ours, canvas = Plans(deployment), Canvas(deployment.settings, children, TOOL_SLOTS)
        stack.callback(canvas.forget)
        dask = _dask(stack, Path(name))
        for shape in SHAPES:
            _compare(shape, size, ours, _sides(shape, size.of(shape), ours, canvas, dask))
        if dask is not None:
            dask.close()
        killed(deployment, children, ours, canvas, size.kills, size.of)


def _sides(
    shape: str, count: int, ours: Plans, canvas: Canvas, dask: Peer | None
) -> Mapping[str, Callable[[], float]]:
    sides: dict[str, Callable[[], float]] = {
        OURS: partial(ours.measure, shape, count),
        SCRIPT: partial(canvas.measure, shape, count, "script"),
        BARE: partial(canvas.measure, shape, count, "bare"),
    }
    if dask is not None:
        sides[f"dask {dask.version}: bare tasks"] = partial(dask.ask, f"{shape} {count}")
    return sides


def _compare(shape: str, size: Size, ours: Plans, sides: Mapping[str, Callable[[], float]]) -> None:
    count = size.of(shape)
    for side in sides.values():
        side()
    cases = {name: partial(_per_tool, side, count) for name, side in sides.items()}
    found: dict[str, Summary] = {name: summary(some) for name, some in interleaved(cases, size.rounds).items()}
    heading(f"A {shape} of {count}: ms a tool, from its submission to its known end")
    for name, each in found.items():
        print(row(name, each, "ms"))
    for what, peer in (("the same script", SCRIPT), ("bare tasks", BARE)):
        print(at_most(f"as long as the canvas of {what}", found[OURS].median / found[peer].median, 1, " times"))
    own = found[OURS].median - ours.script_ms
    print(
        f"  {'skillfleet without the script':<30}{own:>7.2f} ms: a script's run takes {ours.script_ms:.2f} ms of it"
    )


def _per_tool(side: Callable[[], float], count: int) -> list[float]:
    return [side() * 1000 / count]


def _dask(stack: ExitStack, folder: Path) -> Peer | None:
    try:
        environments = Environments(cache_folder() / "environments")
        peer = Peer(environments, folder, "distributed", "distributed>=2025.1", DASK, TOOL_SLOTS)
        return stack.enter_context(peer)
    except PeerMissingError as missing:
        print(f"  without dask: {missing}")
        return None
