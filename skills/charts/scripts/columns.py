"""Read what is to be drawn - a CSV file or inline rows - into columns, and reduce or split them by group."""

import csv
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import compress
from pathlib import Path

Data = str | Path | Sequence[Mapping[str, object]] | Mapping[str, Sequence[object]]
"""Path of a CSV file, rows as dicts, or columns as a dict of lists."""
Columns = dict[str, list[object]]

AGGREGATIONS: dict[str, Callable[[list[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "sum": sum,
    "min": min,
    "max": max,
    "count": len,
}


class ChartError(ValueError):
    """The data do not make this chart; the message says why, in one line."""


def read(data: Data) -> Columns:
    """
    Raises:
        ChartError: no such file, neither rows nor columns, no rows, or columns of different lengths.
    """
    source = _csv_rows(Path(data)) if isinstance(data, str | Path) else data
    if isinstance(source, Mapping) and all(isinstance(column, Sequence) for column in source.values()):
        columns = {str(name): list(column) for name, column in source.items()}
    elif isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
        names = dict.fromkeys(name for row in source for name in row)
        columns = {str(name): [row.get(name) for row in source] for name in names}
    else:
        raise ChartError("data must be a CSV file, a list of objects (rows) or an object of lists (columns)")
    if len({len(column) for column in columns.values()}) > 1:
        raise ChartError("the columns have different lengths")
    return _not_empty(columns)


def values(columns: Columns, name: str) -> list[object]:
    if name not in columns:
        raise ChartError(f"no column {name}; columns: {', '.join(columns)}")
    return columns[name]


def numbers(columns: Columns, name: str) -> list[float]:
    """
    Raises:
        ChartError: no such column, or a value that is no finite number.
    """
    result = []
    for row, value in enumerate(values(columns, name), start=1):
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ChartError(f"column {name}, row {row}: not a number: {value}")
        result.append(number)
    return result


def places(columns: Columns, name: str) -> list[float] | list[datetime] | list[str]:
    """Where values stand on an axis: numbers, else dates (ISO 8601), else words."""
    try:
        return numbers(columns, name)
    except ChartError:
        words = [str(value) for value in values(columns, name)]
    try:
        return [datetime.fromisoformat(word) for word in words]
    except ValueError:
        return words


def complete(columns: Columns, names: Sequence[str]) -> Columns:
    """Only the rows in which none of the named columns is missing."""
    used = [values(columns, name) for name in names]
    keep = [all(value not in (None, "") for value in row) for row in zip(*used, strict=True)]
    return _not_empty({name: list(compress(column, keep)) for name, column in columns.items()})


def split(columns: Columns, by: str) -> dict[str, Columns]:
    """The columns of each value of `by`, in order of appearance; without `by`, one group without a name."""
    if not by:
        return {"": columns}
    groups = [str(value) for value in values(columns, by)]
    return {
        group: {name: list(compress(column, (g == group for g in groups))) for name, column in columns.items()}
        for group in dict.fromkeys(groups)
    }


def aggregate(labels: Sequence[object], heights: Sequence[float], agg: str) -> dict[str, float]:
    """One height a label, in order of appearance.

    Raises:
        ChartError: a label occurs twice and no aggregation is given, or an unknown one.
    """
    by_label: dict[str, list[float]] = {}
    for label, height in zip(labels, heights, strict=True):
        by_label.setdefault(str(label), []).append(height)
    if not agg:
        if len(by_label) < len(labels):
            raise ChartError(f"a category occurs more than once: give agg ({', '.join(AGGREGATIONS)})")
        return {label: found[0] for label, found in by_label.items()}
    if agg not in AGGREGATIONS:
        raise ChartError(f"unknown aggregation {agg}; known: {', '.join(AGGREGATIONS)}")
    return {label: AGGREGATIONS[agg](found) for label, found in by_label.items()}


def _csv_rows(path: Path) -> list[dict[str, object]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [{name: value or None for name, value in row.items()} for row in csv.DictReader(file)]
    except OSError as error:
        raise ChartError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ChartError(f"{path}: {error}") from None


def _not_empty(columns: Columns) -> Columns:
    if not any(columns.values()):
        raise ChartError("no rows to draw")
    return columns
