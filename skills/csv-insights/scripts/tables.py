"""Read a CSV file into a pandas frame, and write a frame as a compact Markdown table or as JSON records."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import pandas as pd

SEPARATORS = ",;\t|"
MISSING = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-")
"""Mean "missing" in a column whose other values are numbers; among words they may be words (NA is Namibia)."""

Source: TypeAlias = str | Path | pd.DataFrame
"""The path of a CSV file, or a frame that was loaded and filtered already."""


class DataError(ValueError):
    """The file cannot be read or the question does not fit it; the message says why, in one line."""


def load(source: Source) -> pd.DataFrame:
    """UTF-8 with a header line, which decides between comma, semicolon, tab and bar; an empty field is missing.

    Raises:
        DataError: no such file, or not a table.
    """
    if isinstance(source, pd.DataFrame):
        return source
    try:
        with Path(source).open(encoding="utf-8-sig") as file:
            separator = max(SEPARATORS, key=file.readline().count)
        frame = pd.read_csv(source, sep=separator, encoding="utf-8-sig", keep_default_na=False, na_values=[""])
    except OSError as error:
        raise DataError(f"{source}: {error.strerror}") from None
    except ValueError as error:  # pandas' own errors are ValueErrors, and so is text that is not UTF-8
        raise DataError(f"{source}: {str(error).splitlines()[0]}") from None
    return frame.apply(_numeric_where_possible)


def table(frame: pd.DataFrame, limit: int = 50) -> str:
    """Markdown; fractions to 6 significant digits. Says how many rows it leaves out."""
    lines = [_line(frame.columns), _line("---" for _ in frame.columns)]
    lines += [_line(row) for row in frame.head(limit).itertuples(index=False)]
    if len(frame) > limit:
        lines.append(f"({len(frame) - limit} more rows)")
    return "\n".join(lines)


def records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Rows as plain values for JSON; missing values are None."""
    rows: list[dict[str, object]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return rows


def is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _numeric_where_possible(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column
    known = column.where(~column.isin(MISSING))
    numbers = pd.to_numeric(known, errors="coerce")
    return numbers if 0 < numbers.notna().sum() == known.notna().sum() else column


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(value: object) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, float):
        return format(value, ".6g" if abs(value) < 100_000 else ".15g")
    return " ".join(str(value).split()).replace("|", "\\|")
