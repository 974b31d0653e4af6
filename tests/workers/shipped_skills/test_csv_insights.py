import json
import math
import statistics
from pathlib import Path

from tests.workers.shipped_skills.bench import IRIS, Bench, iris


def test_insights_agree_with_the_standard_library(bench: Bench) -> None:
    code = (
        "import json; from scripts.insights import *; from scripts.tables import *\n"
        "d = 'data/iris.csv'; found = group_by(d, 'species', 'petal_length'), summarise(d), correlate(d)\n"
        "print(json.dumps([records(frame) for frame in found]))"
    )
    groups, summary, pairs = bench.python("csv-insights", code)
    means = {g["species"]: g["mean petal_length"] for g in groups}
    assert list(means) == ["virginica", "versicolor", "setosa"]
    assert all(math.isclose(mean, statistics.mean(iris("petal_length", name))) for name, mean in means.items())
    for row in summary:
        values = iris(row["column"])
        assert row["count"] == 150
        assert math.isclose(row["mean"], statistics.mean(values)) and math.isclose(
            row["std"], statistics.stdev(values)
        )
    assert len(pairs) == 6 and (pairs[0]["a"], pairs[0]["b"]) == ("petal_length", "petal_width")
    assert all(math.isclose(p["correlation"], statistics.correlation(iris(p["a"]), iris(p["b"]))) for p in pairs)


def test_the_bundled_iris_table_has_fishers_values_where_other_copies_err() -> None:
    lines = IRIS.read_text().splitlines()
    assert lines[0] == "sepal_length,sepal_width,petal_length,petal_width,species" and len(lines) == 151
    assert (lines[35], lines[38]) == ("4.9,3.1,1.5,0.2,setosa", "4.9,3.6,1.4,0.1,setosa")


def test_a_country_called_na_is_not_a_missing_value_but_na_among_numbers_is(bench: Bench, tmp_path: Path) -> None:
    zones = bench.run("csv-insights", "scripts/insights.py", "profile", "data/timezones.csv", "--json")
    missing = {row["column"]: row["missing"] for row in json.loads(zones.stdout)}
    assert (missing["country"], missing["comment"]) == (0, 111)
    table = tmp_path / "numbers.csv"
    table.write_text('\ufeffname;height\na|b;1.5\nc;NA\n"d";2.5\n', encoding="utf-8")
    shown = bench.run("csv-insights", "scripts/insights.py", "top", str(table), "height", "-n", "1")
    assert shown.stdout.splitlines() == ["| name | height |", "| --- | --- |", "| d | 2.5 |"]
    counted = bench.run("csv-insights", "scripts/insights.py", "summarise", str(table), "--json")
    assert json.loads(counted.stdout)[0]["count"] == 2


REFUSED = [
    (["profile", "nope.csv"], "No such file"),
    (["profile", "."], "Is a directory"),
    (["top", "data/iris.csv", "petal"], "no column petal; columns: sepal_length"),
    (["group", "data/iris.csv", "petal_width", "species"], "species holds words"),
]


def test_a_question_that_does_not_fit_the_table_is_refused(bench: Bench) -> None:
    code = f"from scripts.insights import main\nfor arguments, _ in {REFUSED}: assert main(arguments) == 1"
    done = bench.run("csv-insights", "-", stdin=code)
    assert done.returncode == 0, done.stderr
    for (_, reason), line in zip(REFUSED, done.stderr.splitlines(), strict=True):
        assert line.startswith("insights: ") and reason in line
