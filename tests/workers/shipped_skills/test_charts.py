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
    size = ["--width", "640", "--height", "400", "--title", r"$\x$ from 5", "--output", "c.png"]
    done = bench.run("charts", "scripts/chart.py", kind, str(IRIS), *options, *size)
    assert (done.returncode, done.stderr) == (0, "")
    png = (bench.output / "c.png").read_bytes()
    assert json.loads(done.stdout) == {
        "file": "c.png", "kind": kind, "rows": 150, "width": 640, "height": 400, "bytes": len(png)
    }  # fmt: skip
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and struct.unpack(">II", png[16:24]) == (640, 400)


def test_a_chart_shows_its_data_and_nothing_of_the_moment(bench: Bench) -> None:
    code = (
        "import json; from scripts.chart import draw\n"
        "for name, heights in {'a': [1, 2], 'b': [2, 1], 'again': [1, 2]}.items():\n"
        "    data = {'day': ['2026-01-01', '2026-02-01'], 'n': heights}\n"
        "    print(json.dumps(draw('line', data, x='day', y='n', output=f'{name}.png')))"
    )
    assert bench.python("charts", code)["rows"] == 2
    a, b, again = ((bench.output / f"{name}.png").read_bytes() for name in ("a", "b", "again"))
    assert a == again != b


def test_rows_without_a_value_are_left_out_and_the_result_says_so(bench: Bench) -> None:
    rows = '[{"day": "mon", "n": 1}, {"day": "tue"}, {"day": "wed", "n": 2}]'
    done = bench.run("charts", "scripts/chart.py", "bar", rows, "--x", "day", "--y", "n")
    assert json.loads(done.stdout)["rows"] == 2


REFUSED = [
    (["bar", "nope.csv", "--x", "a"], "No such file"),
    (["bar", "[", "--x", "a"], "not JSON"),
    (["bar", "[1]", "--x", "a"], "data must be"),
    (["bar", "[]", "--x", "a"], "no rows"),
    (["bar", '{"a": [1], "b": []}', "--x", "a"], "different lengths"),
    (["bar", str(IRIS), "--x", "species", "--y", "petal_width"], "more than once"),
    (["scatter", str(IRIS), "--x", "species", "--y", "petal_width"], "not a number: setosa"),
    (["histogram", '[{"a": 1}]', "--x", "a", "--output", "../a.png"], "without folders"),
    (["histogram", '[{"a": 1}]', "--x", "a", "--width", "100000"], "pixels"),
]


def test_data_that_make_no_chart_are_refused(bench: Bench) -> None:
    code = f"from scripts.chart import main\nfor arguments, _ in {REFUSED}: assert main(arguments) == 1"
    done = bench.run("charts", "-", stdin=code)
    assert done.returncode == 0 and not list(bench.output.iterdir())
    for (_, reason), line in zip(REFUSED, done.stderr.splitlines(), strict=True):
        assert line.startswith("chart: ") and reason in line
