import json
import math
from fractions import Fraction

import pytest
from tests.workers.shipped_skills.bench import Bench, iris


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
    code = (
        "import json; from scripts.calc import evaluate\n"
        f"print(json.dumps([evaluate(expression).text() for expression in {list(expressions)}]))"
    )
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
        "__import__('os').system('id')", "().__class__", "[1]", "'a'*9", "lambda: 1", "1 if 1 else 2", "True",
        "2^3", "x", "", "(", "(" * 400 + "1" + ")" * 400,
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
