"""The skills that ship, each script run in the environment that a worker builds for it."""

import csv
import json
import math
import os
import re
import statistics
import struct
import subprocess
import sys
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill

SKILLS = Path(__file__).parents[2] / "skills"
NAMES = ("calculator", "charts", "csv-insights", "text-report")
SCRIPTS = sorted(path.relative_to(SKILLS).as_posix() for path in SKILLS.glob("*/scripts/*.py"))
COMMANDS = [script for script in SCRIPTS if Path(script).name not in ("columns.py", "tables.py")]
IRIS = SKILLS / "csv-insights" / "data" / "iris.csv"


@dataclass(frozen=True)
class Bench:
    """Runs a skill as a worker does: its root as the working directory and on PYTHONPATH, a clean environment."""

    interpreters: dict[str, Path]
    output: Path
    home: Path

    def run(self, skill: str, *arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        root = str(SKILLS / skill)
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": root,
            "PYTHONDONTWRITEBYTECODE": "1",
            "SKILLFLEET_OUTPUT_DIR": str(self.output),
        } | more
        command = [str(self.interpreters[skill]), *arguments]
        return subprocess.run(
            command, cwd=root, env=environment, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    def python(self, skill: str, code: str) -> Any:
        """What the code prints last, read as JSON."""
        done = self.run(skill, "-", stdin=code)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def refusal(self, skill: str, *arguments: str, stdin: str = "") -> str:
        done = self.run(skill, *arguments, stdin=stdin)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        return done.stderr


@pytest.fixture(scope="session")
def interpreters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    catalog, environments = SkillCatalog(SKILLS), Environments(tmp_path_factory.mktemp("environments"))
    found = {}
    for name in NAMES:
        skill = catalog.find(name)
        assert isinstance(skill, Skill)
        interpreter = environments.interpreter_for(skill)
        assert isinstance(interpreter, Path), interpreter
        found[name] = interpreter
    return found


@pytest.fixture
def bench(interpreters: dict[str, Path], tmp_path: Path) -> Bench:
    output, home = tmp_path / "output", tmp_path / "home"
    output.mkdir()
    home.mkdir()
    return Bench(interpreters, output, home)


def frontmatter(skill: str) -> dict[str, Any]:
    text = (SKILLS / skill / "SKILL.md").read_text()
    assert text.startswith("---\n")
    fields = yaml.safe_load(text.split("\n---\n")[0])
    assert isinstance(fields, dict)
    return fields


def samples(skill: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (SKILLS / skill / "SKILL.md").read_text(), re.DOTALL)


def iris(column: str, species: str = "") -> list[float]:
    with IRIS.open(newline="") as file:
        return [float(row[column]) for row in csv.DictReader(file) if species in ("", row["species"])]


def test_every_shipped_folder_is_a_skill_that_loads_without_a_warning() -> None:
    catalog = SkillCatalog(SKILLS)
    assert tuple(skill.name for skill in catalog.list()) == NAMES
    assert not catalog.skipped
    assert [skill.problems for skill in catalog.list()] == [()] * len(NAMES)


@pytest.mark.parametrize("skill", NAMES)
def test_the_frontmatter_obeys_the_open_specification(skill: str) -> None:
    fields = frontmatter(skill)
    assert set(fields) <= {"name", "description", "license", "allowed-tools", "metadata", "compatibility"}
    assert fields["name"] == skill == unicodedata.normalize("NFKC", skill)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill) and len(skill) <= 64
    assert 1 <= len(fields["description"].strip()) <= 1024
    assert "Use when" in fields["description"]
    assert 1 <= len(fields["compatibility"]) <= 500
    assert fields["license"] == "Apache-2.0"
    assert all(isinstance(word, str) for pair in fields["metadata"].items() for word in pair)


@pytest.mark.parametrize("skill", NAMES)
def test_every_file_that_the_documents_name_exists(skill: str) -> None:
    root = SKILLS / skill
    for document in root.rglob("*.md"):
        named = set(re.findall(r"\b(?:scripts|references|assets|data)/[\w./-]+\.\w+", document.read_text()))
        missing = {name for name in named if not (root / name).is_file()} - {"datasets/data/iris.csv", "data/iris.csv"}
        assert not missing, document


@pytest.mark.parametrize("skill", NAMES)
def test_the_samples_of_skill_md_run(bench: Bench, skill: str) -> None:
    assert samples(skill)
    for sample in samples(skill):
        done = bench.run(skill, "-", stdin=sample)
        assert (done.returncode, done.stderr) == (0, "")
        shown = re.findall(r"# (\d[\d./]*)(?:,|$)", sample, re.MULTILINE)
        assert all(value in done.stdout.splitlines() for value in shown)


@pytest.mark.parametrize("script", SCRIPTS)
def test_importing_a_script_does_nothing(bench: Bench, script: str) -> None:
    skill, module = script.split("/", 1)[0], Path(script).stem
    done = bench.run(skill, "-c", f"import scripts.{module} as m; print(len(m.__doc__))")
    assert done.returncode == 0, done.stderr
    assert 20 < int(done.stdout) <= 500
    assert done.stderr == "" and not list(bench.output.iterdir())


@pytest.mark.parametrize("script", COMMANDS)
def test_every_command_explains_itself_and_refuses_unknown_options(bench: Bench, script: str) -> None:
    skill, path = script.split("/", 1)
    shown = bench.run(skill, path, "--help")
    assert shown.returncode == 0 and shown.stdout.startswith("usage:")
    refused = bench.run(skill, path, "--no-such-option")
    assert refused.returncode == 2 and "usage:" in refused.stderr


def test_the_calculator_is_exact(bench: Bench) -> None:
    expressions = {
        "0.1 + 0.2": "0.3",
        "2 ** 200": str(2**200),
        "-7 // 2 + -7 % 3": "-2",
        "sqrt(9/4) - 3/2": "0",
        "comb(49, 6)": str(math.comb(49, 6)),
        "factorial(1000)": str(math.factorial(1000)),
        "round(2.675, 2)": "2.68",
        "0x1f + 1_000": "1031",
    }
    code = f"import json; from scripts.calc import evaluate\nprint(json.dumps([evaluate(e).text() for e in {list(expressions)}]))"
    assert bench.python("calculator", code) == list(expressions.values())


def test_the_calculator_says_what_it_rounded(bench: Bench) -> None:
    done = bench.run("calculator", "scripts/calc.py", "--json", "--digits", "12", "sin(pi / 6) * 2 ** 0.5")
    answer = json.loads(done.stdout)
    assert answer["exact"] is False
    assert math.isclose(float(answer["value"]), math.sin(math.pi / 6) * math.sqrt(2), rel_tol=1e-11)
    third = json.loads(bench.run("calculator", "scripts/calc.py", "--json", "1/3").stdout)
    assert third == {"value": "0.333333333333333", "fraction": "1/3", "exact": True}


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9", "2**-99999999", "1e999999999", "factorial(10**9)", "exp(1e9)", "1" + "0" * 999 + "**9", "9" * 1001,
        "1/0", "sqrt(-1)", "(-8)**(1/3)", "log(8, 1)", "max()", "gcd(1/2)",
        "__import__('os').system('id')", "().__class__", "[1]", "'a'*9", "lambda: 1", "1 if 1 else 2", "True", "2^3", "x",
        "", "(", "(" * 400 + "1" + ")" * 400,
    ],
)  # fmt: skip
def test_the_calculator_refuses_what_is_too_large_undefined_or_not_arithmetic(bench: Bench, expression: str) -> None:
    assert bench.refusal("calculator", "scripts/calc.py", expression).startswith("calc: ")


def test_statistics_of_numbers(bench: Bench) -> None:
    petals = iris("petal_length")
    done = bench.run("calculator", "scripts/stats.py", "-", stdin="\n".join(map(str, petals)))
    found = json.loads(done.stdout)
    mean = sum(map(Fraction, map(str, petals))) / 150
    squares = sum((Fraction(str(petal)) - mean) ** 2 for petal in petals)
    assert (found["count"], found["min"], found["max"], found["modes"]) == (150, 1.0, 6.9, [1.4, 1.5])
    assert math.isclose(found["mean"], mean) and math.isclose(found["sum"], 150 * mean)
    assert math.isclose(found["stdev"], math.sqrt(squares / 149))
    assert math.isclose(found["population_stdev"], math.sqrt(squares / 150))
    assert found["quantiles"] == pytest.approx([1.6, 4.35, 5.1]) and found["median"] == 4.35
    assert "not a number: x" in bench.refusal("calculator", "scripts/stats.py", "1", "x")


def test_units_are_converted_exactly(bench: Bench) -> None:
    cases = [("26.2", "mi", "km"), ("98.6", "F", "C"), ("1", "gal", "l"), ("90", "km/h", "m/s"), ("1", "GiB", "MB")]
    code = (
        "import json; from scripts.units import convert\n"
        f"print(json.dumps([str(convert(*case)) for case in {cases}]))"
    )
    exact = [Fraction(text) for text in bench.python("calculator", code)]
    assert exact == [Fraction(t) for t in ("42.1648128", "37", "3.785411784", "25", "1073.741824")]
    assert "m is length, kg is mass" in bench.refusal("calculator", "scripts/units.py", "1", "m", "kg")


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
        assert math.isclose(row["mean"], statistics.mean(values)) and math.isclose(row["std"], statistics.stdev(values))
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
    table.write_text("\ufeffname;height\na|b;1.5\nc;NA\n\"d\";2.5\n", encoding="utf-8")
    shown = bench.run("csv-insights", "scripts/insights.py", "top", str(table), "height", "-n", "1")
    assert shown.stdout.splitlines() == ["| name | height |", "| --- | --- |", "| d | 2.5 |"]
    counted = bench.run("csv-insights", "scripts/insights.py", "summarise", str(table), "--json")
    assert json.loads(counted.stdout)[0]["count"] == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["profile", "nope.csv"], "No such file"),
        (["profile", "."], "Is a directory"),
        (["top", "data/iris.csv", "petal"], "no column petal; columns: sepal_length"),
        (["group", "data/iris.csv", "petal_width", "species"], "species holds words"),
    ],
)
def test_a_question_that_does_not_fit_the_table_is_refused(bench: Bench, arguments: list[str], reason: str) -> None:
    assert reason in bench.refusal("csv-insights", "scripts/insights.py", *arguments)


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
