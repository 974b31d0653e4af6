"""Draw a bar, line, scatter or histogram chart as a PNG from a CSV file or inline JSON data."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cycler import cycler
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scripts.columns import (
    AGGREGATIONS,
    ChartError,
    Columns,
    Data,
    aggregate,
    complete,
    numbers,
    places,
    read,
    split,
    values,
)

DPI = 100
MIN_PIXELS, MAX_PIXELS = 200, 4000
MAX_BARS = 60
STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    # Okabe and Ito's colours, which colour-blind readers can tell apart
    "axes.prop_cycle": cycler(color=["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000"]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "date.converter": "concise",
    "figure.constrained_layout.use": True,
    "grid.alpha": 0.3,
    "text.parse_math": False,  # a dollar sign in a title is a dollar sign
}


@dataclass(frozen=True, slots=True)
class Spec:
    """What to draw: the column `y` against the column `x`, split into coloured groups by the column `series`.
    `agg` reduces the bars of one category to one."""

    x: str
    y: str = ""
    series: str = ""
    agg: str = ""
    bins: int | str = "auto"
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    output: str = "chart.png"
    width: int = 960
    height: int = 540


def draw(kind: str, data: Data, **options: Any) -> dict[str, object]:
    """Draw into the folder SKILLFLEET_OUTPUT_DIR (else the current one). `options` are the fields of Spec.

    Gives file (its name in that folder), kind, rows (drawn), width and height (pixels), bytes.

    Raises:
        ChartError: the data do not make this chart, or the output is no plain file name.
    """
    if kind not in KINDS:
        raise ChartError(f"unknown kind {kind}; known: {', '.join(KINDS)}")
    spec = Spec(**options)
    path = _output_path(spec)
    columns = complete(read(data), [name for name in (spec.x, spec.y, spec.series) if name])
    with rc_context(STYLE):
        figure = Figure(figsize=(spec.width / DPI, spec.height / DPI), dpi=DPI)
        axes = figure.subplots()
        KINDS[kind](axes, columns, spec)
        _label(axes, kind, spec)
        try:
            figure.savefig(path, metadata={"Software": None})
        except OSError as error:
            raise ChartError(f"cannot write {path.name}: {error.strerror}") from None
    sizes = {"width": spec.width, "height": spec.height, "bytes": path.stat().st_size}
    return {"file": path.name, "kind": kind, "rows": len(columns[spec.x])} | sizes


def _output_path(spec: Spec) -> Path:
    if not all(MIN_PIXELS <= size <= MAX_PIXELS for size in (spec.width, spec.height)):
        raise ChartError(f"width and height are {MIN_PIXELS} to {MAX_PIXELS} pixels")
    if Path(spec.output).name != spec.output or not spec.output.endswith(".png"):
        raise ChartError(f"output must be a file name that ends in .png, without folders: {spec.output}")
    return Path(os.environ.get("SKILLFLEET_OUTPUT_DIR", ".")) / spec.output


def _label(axes: Axes, kind: str, spec: Spec) -> None:
    height = "count" if kind == "histogram" else f"{spec.agg} {spec.y}".strip()
    axes.set(title=spec.title, xlabel=spec.x_label or spec.x, ylabel=spec.y_label or height)
    if spec.series:
        axes.legend(title=spec.series, frameon=False)


def _heights(columns: Columns, spec: Spec) -> list[float]:
    if not spec.y:
        raise ChartError("y, the column of heights, is missing")
    return numbers(columns, spec.y)


def _bar(axes: Axes, columns: Columns, spec: Spec) -> None:
    """The bars of the groups stand side by side; where a group has no value, its place is empty."""
    labels = list(dict.fromkeys(map(str, values(columns, spec.x))))
    groups = split(columns, spec.series)
    if len(labels) * len(groups) > MAX_BARS:
        raise ChartError(f"{len(labels) * len(groups)} bars are too many to read; at most {MAX_BARS}")
    width = 0.8 / len(groups)
    for index, (name, group) in enumerate(groups.items()):
        found = [1.0] * len(group[spec.x]) if spec.agg == "count" else _heights(group, spec)
        heights = aggregate(values(group, spec.x), found, spec.agg)
        shift = (index - (len(groups) - 1) / 2) * width
        axes.bar([labels.index(label) + shift for label in heights], list(heights.values()), width, label=name)
    crowded = sum(map(len, labels)) > spec.width / 12
    axes.set_xticks(range(len(labels)), labels, rotation=45 if crowded else 0, ha="right" if crowded else "center")
    axes.grid(visible=False, axis="x")


def _line(axes: Axes, columns: Columns, spec: Spec) -> None:
    """Numbers and dates are joined from left to right, words in the order given."""
    at = places(columns, spec.x)
    words = isinstance(at[0], str)
    for name, group in split(columns | {spec.x: list(at)}, spec.series).items():
        points = list(zip(group[spec.x], _heights(group, spec), strict=True))
        points = points if words else sorted(points)
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=4, label=name)


def _scatter(axes: Axes, columns: Columns, spec: Spec) -> None:
    for name, group in split(columns, spec.series).items():
        axes.scatter(numbers(group, spec.x), _heights(group, spec), s=24, alpha=0.8, label=name)


def _histogram(axes: Axes, columns: Columns, spec: Spec) -> None:
    groups = split(columns, spec.series)
    found = [numbers(group, spec.x) for group in groups.values()]
    if isinstance(spec.bins, int) and not 1 <= spec.bins <= MAX_BARS:
        raise ChartError(f"bins must be 1 to {MAX_BARS}")
    axes.hist(found, bins=spec.bins, label=list(groups), histtype="stepfilled", alpha=0.7)


KINDS: dict[str, Callable[[Axes, Columns, Spec], None]] = {
    "bar": _bar,
    "line": _line,
    "scatter": _scatter,
    "histogram": _histogram,
}


def main(arguments: list[str] | None = None) -> int:
    options = vars(_parser().parse_args(arguments))
    kind, data = options.pop("kind"), options.pop("data")
    try:
        inline = data.lstrip().startswith(("[", "{"))
        result = draw(kind, json.loads(data) if inline else data, **options)
    except json.JSONDecodeError as error:
        print(f"chart: the inline data are not JSON: {error}", file=sys.stderr)
        return 1
    except ChartError as error:
        print(f"chart: {error}", file=sys.stderr)
        return 1
    print(json.dumps(result))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, argument_default=argparse.SUPPRESS)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("data", help='CSV file, or inline JSON: [{"x": 1, "y": 2}, ...] or {"x": [1], "y": [2]}')
    parser.add_argument("--x", required=True, help="column along the x axis; of a histogram, the column to count")
    parser.add_argument("--y", help="column of heights")
    parser.add_argument("--series", help="column that splits the data into coloured groups")
    parser.add_argument("--agg", choices=AGGREGATIONS, help="reduces the bars of one category to one")
    parser.add_argument("--bins", type=int, help="bars of a histogram")
    for name in ("title", "x-label", "y-label"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--output", help="file name that ends in .png")
    parser.add_argument("--width", type=int, help="pixels")
    parser.add_argument("--height", type=int, help="pixels")
    return parser


if __name__ == "__main__":
    sys.exit(main())
