"""Describe a list of numbers: count, sum, mean, median, modes, spread and quantiles, as one JSON object."""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterable

Description = dict[str, float | list[float] | None]


class StatsError(ValueError):
    """The numbers cannot be described; the message says why, in one line."""


def describe(numbers: Iterable[float], parts: int = 4) -> Description:
    """`stdev` and `variance` are those of a sample (n - 1), None for a single number. `quantiles` are the
    `parts` - 1 cut points; the smallest and the largest number are the 0 % and the 100 % point. `modes` are
    empty where no number repeats.

    Raises:
        StatsError: no numbers, one that is infinite or not a number, or fewer than two parts.
    """
    values = sorted(float(number) for number in numbers)
    if not values:
        raise StatsError("no numbers given")
    if not all(map(math.isfinite, values)):
        raise StatsError("every number must be finite")
    if parts < 2:
        raise StatsError("quantiles need at least 2 parts")
    several = len(values) > 1
    repeated = len(set(values)) < len(values)
    return {
        "count": len(values),
        "sum": math.fsum(values),
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "modes": statistics.multimode(values) if repeated else [],
        "min": values[0],
        "max": values[-1],
        "stdev": statistics.stdev(values) if several else None,
        "variance": statistics.variance(values) if several else None,
        "population_stdev": statistics.pstdev(values),
        "quantiles": statistics.quantiles(values, n=parts, method="inclusive") if several else [],
    }


def read_numbers(words: Iterable[str]) -> list[float]:
    """Numbers divided by spaces or commas.

    Raises:
        StatsError: a word is not a number.
    """
    numbers = []
    for word in " ".join(words).replace(",", " ").split():
        try:
            numbers.append(float(word))
        except ValueError:
            raise StatsError(f"not a number: {word}") from None
    return numbers


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", nargs="+", help="divided by spaces or commas; - reads them from standard input")
    parser.add_argument("--parts", type=int, default=4, help="4 gives quartiles, 10 deciles, 100 percentiles")
    options = parser.parse_args(arguments)
    words = sys.stdin.read().split() if options.numbers == ["-"] else options.numbers
    try:
        description = describe(read_numbers(words), options.parts)
    except StatsError as error:
        print(f"stats: {error}", file=sys.stderr)
        return 1
    print(json.dumps(description))
    return 0


if __name__ == "__main__":
    sys.exit(main())
