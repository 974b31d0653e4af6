import json
import struct

import pytest
from tests.workers.shipped_skills.bench import IRIS, Bench


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bar", ["--x", "species", "--y", "petal_length", "--agg", "mean"]),
        ("bar", ["--x", "species", "--agg", "count"]),
        ("line", ["--x", "sepal_length", "--y", "sepal_width"]),
        ("scatter", ["--x", "petal_length", "--y", "petal_width", "--series", "species"]),
        ("histogram", ["--x", "petal_length", "--bins", "12"]),
    ],
)
def test_a_chart_is_a_png_of_the_size_asked_for(bench: Bench, kind: str, options: list[str]) -> None:
    size = ["--width", "640", "--height", "400", "--title", "Cost: $5 to $6_", "--output", "c.png"]
    done = bench.run("charts", "scripts/chart.py", kind, str(IRIS), *options, *size)
    assert (done.returncode, done.stderr) == (0, "")
    png = (bench.output / "c.png").read_bytes()
    assert json.loads(done.stdout) == {
        "file": "c.png", "kind": kind, "rows": 150, "width": 640, "height": 400, "bytes": len(png)
    }  # fmt: skip
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and struct.unpack(">II", png[16:24]) == (640, 400)


def test_a_chart_shows_its_data_and_nothing_of_the_moment(bench: Bench) -> None:
    for name, heights in (("a", "[1, 2]"), ("b", "[2, 1]"), ("again", "[1, 2]")):
        data = f'{{"day": ["2026-01-01", "2026-02-01"], "n": {heights}}}'
        bench.run("charts", "scripts/chart.py", "line", data, "--x", "day", "--y", "n", "--output", f"{name}.png")
    a, b, again = ((bench.output / f"{name}.png").read_bytes() for name in ("a", "b", "again"))
    assert a == again != b


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["bar", "nope.csv", "--x", "a"], "No such file"),
        (["bar", "[", "--x", "a"], "not JSON"),
        (["bar", "[1]", "--x", "a"], "data must be"),
        (["bar", "[]", "--x", "a"], "no rows"),
        (["bar", '{"a": [1], "b": []}', "--x", "a"], "different lengths"),
        (["bar", str(IRIS), "--x", "species", "--y", "petal_width"], "more than once"),
        (["scatter", str(IRIS), "--x", "species", "--y", "petal_width"], "not a number: setosa"),
        (["histogram", '[{"a": 1}]', "--x", "a", "--output", "../a.png"], "without folders"),
        (["histogram", '[{"a": 1}]', "--x", "a", "--width", "100000"], "pixels"),
    ],
)
def test_data_that_make_no_chart_are_refused(bench: Bench, arguments: list[str], reason: str) -> None:
    assert reason in bench.refusal("charts", "scripts/chart.py", *arguments)
    assert not list(bench.output.iterdir())
