"""The rows of the statistics that executions add to (pure)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .buckets import bucket_of
from .columns import day_of
from .spans import cells_of

KEY = ("tenant", "span", "day", "skill_name", "skill_version", "bucket")
COUNTED = ("count", "failed", "timeout")


def sums_of(ended: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of rows of executions that have ended: what to add to `execution_stats`, each row once and in the order of its
    keys, in which all who write take their locks."""
    sums: dict[tuple[Any, ...], list[int]] = {}
    for row in ended:
        what = (row["skill_name"], row["skill_version"], bucket_of(row["duration_ms"] or 0))
        for cell in cells_of(row["tenant"], day_of(row["completed_at"])):
            counts = sums.setdefault((cell.tenant, cell.span, cell.day, *what), [0, 0, 0])
            counts[0] += 1
            if row["status"] in COUNTED:
                counts[COUNTED.index(row["status"])] += 1
    for key in sorted(sums):
        yield dict(zip((*KEY, *COUNTED), (*key, *sums[key]), strict=True))
