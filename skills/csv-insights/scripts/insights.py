"""Profile a CSV file, group and aggregate it, list its top rows, and find correlations between its columns."""

import argparse
import json
import sys
from collections.abc import Sequence

import pandas as pd
from scripts.tables import DataError, Source, is_number, load, records, table

AGGREGATIONS = ("mean", "median", "min", "max", "sum", "std", "nunique")
METHODS = ("pearson", "spearman")


def profile(source: Source) -> pd.DataFrame:
    """One row a column: its kind, how many values are missing, how many differ, the range or the commonest value."""
    frame = load(source)
    rows = []
    for name, column in frame.items():
        known, number = column.dropna(), is_number(column)
        rows.append(
            {
                "column": name,
                "kind": "number" if number else "boolean" if column.dtype == bool else "text",
                "missing": int(column.isna().sum()),
                "distinct": int(column.nunique()),
                "min": known.min() if number else None,
                "max": known.max() if number else None,
                "commonest": None if number or known.empty else known.mode().iloc[0],
            }
        )
    return pd.DataFrame(rows)


def summarise(source: Source, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Count, mean, standard deviation (of a sample), minimum, quartiles and maximum of the number columns."""
    chosen = _numbers(load(source), columns)
    return chosen.describe().T.rename_axis("column").reset_index().astype({"count": int})


def group_by(source: Source, by: str, column: str, agg: str = "mean") -> pd.DataFrame:
    """`agg` of a column in each group, with the number of rows, the largest first. Rows without a group count
    as a group of their own.

    Raises:
        DataError: an unknown column or aggregation, or an aggregation of words other than nunique, min and max.
    """
    frame = load(source)
    _require(frame, [by, column])
    if agg not in AGGREGATIONS:
        raise DataError(f"unknown aggregation {agg}; known: {', '.join(AGGREGATIONS)}")
    if agg not in ("nunique", "min", "max"):
        _numbers(frame, [column])
    groups = frame.groupby(by, dropna=False)[column]
    name = f"{agg} {column}"
    result = pd.DataFrame({"rows": groups.size(), name: groups.agg(agg)}).rename_axis(by).reset_index()
    return result.sort_values(name, ascending=False, kind="stable", ignore_index=True)


def counts(source: Source, column: str) -> pd.DataFrame:
    """How often each value occurs, and its share, the commonest first."""
    frame = load(source)
    _require(frame, [column])
    rows = frame[column].value_counts(dropna=False)
    return pd.DataFrame({"rows": rows, "share": rows / max(len(frame), 1)}).rename_axis(column).reset_index()


def top(source: Source, column: str, n: int = 10, smallest: bool = False) -> pd.DataFrame:
    """The n rows with the largest (or smallest) values of a column, in order; ties as they stand in the file."""
    frame = load(source)
    _require(frame, [column])
    return frame.sort_values(column, ascending=smallest, kind="stable", ignore_index=True).head(n)


def correlate(source: Source, columns: Sequence[str] = (), method: str = "pearson") -> pd.DataFrame:
    """Each pair of number columns, the strongest correlation first; `rows` have both values."""
    if method not in METHODS:
        raise DataError(f"unknown method {method}; known: {', '.join(METHODS)}")
    numbers = _numbers(load(source), columns)
    matrix = numbers.corr(method=method)
    names = list(numbers.columns)
    pairs = [
        {"a": a, "b": b, "correlation": matrix.loc[a, b], "rows": len(numbers[[a, b]].dropna())}
        for i, a in enumerate(names)
        for b in names[i + 1 :]
    ]
    result = pd.DataFrame(pairs, columns=["a", "b", "correlation", "rows"])
    return result.sort_values("correlation", key=abs, ascending=False, kind="stable", ignore_index=True)


def _require(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in frame.columns:
            raise DataError(f"no column {name}; columns: {', '.join(map(str, frame.columns))}")


def _numbers(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    _require(frame, columns)
    for name in columns:
        if not is_number(frame[name]):
            raise DataError(f"column {name} holds words, not numbers")
    chosen = frame[list(columns)] if columns else frame.loc[:, [is_number(c) for _, c in frame.items()]]
    if chosen.columns.empty:
        raise DataError("no column holds numbers")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        answer = _answer(options)
    except DataError as error:
        print(f"insights: {error}", file=sys.stderr)
        return 1
    print(json.dumps(records(answer), ensure_ascii=False) if options.json else table(answer))
    return 0


def _answer(options: argparse.Namespace) -> pd.DataFrame:
    match options.command:
        case "summarise":
            return summarise(options.path, options.columns)
        case "group":
            return group_by(options.path, options.by, options.column, options.agg)
        case "counts":
            return counts(options.path, options.column)
        case "top":
            return top(options.path, options.column, options.n, options.smallest)
        case "correlate":
            return correlate(options.path, options.columns, options.method)
    return profile(options.path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("path", help="CSV file, for example data/iris.csv")
    shared.add_argument("--json", action="store_true", help="records as JSON instead of a table")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("profile", parents=[shared], help="what each column holds")
    summary = commands.add_parser("summarise", parents=[shared], help="mean, spread and quartiles")
    summary.add_argument("columns", nargs="*")
    group = commands.add_parser("group", parents=[shared], help="aggregate a column in each group")
    group.add_argument("by")
    group.add_argument("column")
    group.add_argument("--agg", default="mean", choices=AGGREGATIONS)
    count = commands.add_parser("counts", parents=[shared], help="how often each value occurs")
    count.add_argument("column")
    best = commands.add_parser("top", parents=[shared], help="rows with the largest values")
    best.add_argument("column")
    best.add_argument("-n", type=int, default=10)
    best.add_argument("--smallest", action="store_true")
    pairs = commands.add_parser("correlate", parents=[shared], help="how strongly number columns go together")
    pairs.add_argument("columns", nargs="*")
    pairs.add_argument("--method", default="pearson", choices=METHODS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
