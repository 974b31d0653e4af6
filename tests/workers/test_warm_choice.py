"""Which of the interpreters that wait serves a run that none was made for."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.harness import eventually
from tests.workers.warm_parts import environment_with

from skillfleet_workers.runtimes.base import Limits, RunRequest
from skillfleet_workers.runtimes.warm.recipe import Recipe, best_first, recipe_for
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime

LOADED = "import sys; print('decimal' in sys.modules, 'fractions' in sys.modules)"


@pytest.fixture
def ask(ask: RunRequest, tmp_path: Path) -> RunRequest:
    return replace(ask, interpreter=environment_with(tmp_path / "venv", "empty.py", ""), script=LOADED)


def imports(runtime: WarmRuntime) -> list[tuple[str, ...]]:
    return sorted(one.recipe.imports for one in runtime.pool.interpreters())


def test_one_that_has_imported_more_serves(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    assert warm_runtime.run(replace(ask, preload=("json", "decimal"))).stdout == "True False\n"
    for fewer in (("decimal",), ("decimal", "json"), ()):
        assert warm_runtime.run(replace(ask, preload=fewer)).stdout == "True False\n"
    assert [one.runs for one in warm_runtime.pool.interpreters()] == [4]


def test_one_that_has_imported_less_serves_at_once_and_one_that_fits_takes_its_place(
    warm_runtime: WarmRuntime, ask: RunRequest
) -> None:
    warm_runtime.run(ask)
    assert warm_runtime.run(replace(ask, preload=("decimal",))).stdout == "False False\n"
    assert eventually(lambda: imports(warm_runtime) == [("decimal",)])
    assert warm_runtime.run(replace(ask, preload=("decimal",))).stdout == "True False\n"
    assert warm_runtime.run(ask).success and imports(warm_runtime) == [("decimal",)]


def test_those_that_have_imported_different_things_are_both_kept(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    warm_runtime.run(replace(ask, preload=("decimal",)))
    assert warm_runtime.run(replace(ask, preload=("fractions", "csv"))).stdout == "True False\n"
    assert eventually(lambda: imports(warm_runtime) == [("decimal",), ("fractions", "csv")])
    assert warm_runtime.run(replace(ask, preload=("decimal",))).stdout == "True False\n"
    assert "True\n" in warm_runtime.run(replace(ask, preload=("csv",))).stdout


def test_runs_at_the_same_time_have_an_interpreter_each(warm_runtime: WarmRuntime, ask: RunRequest) -> None:
    go = ask.skill_root / "go"
    waits = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)"
    asked = replace(ask, script=waits, preload=("decimal",))
    with ThreadPoolExecutor(2) as beside:
        runs = [beside.submit(warm_runtime.run, asked) for _ in range(2)]
        assert eventually(lambda: len(warm_runtime.pool.interpreters()) == 2)
        go.touch()
        assert all(run.result().success for run in runs)
    assert imports(warm_runtime) == [("decimal",), ("decimal",)]


def test_a_module_that_the_skill_has_by_now_is_not_one_that_was_imported_ahead(
    warm_runtime: WarmRuntime, ask: RunRequest
) -> None:
    environment = {**ask.environment, "PYTHONPATH": str(ask.skill_root)}
    asked = replace(ask, environment=environment, script="import decimal; print(decimal.__file__)")
    assert "skill/" not in warm_runtime.run(replace(asked, preload=("decimal",))).stdout
    (ask.skill_root / "decimal.py").write_text("")
    assert warm_runtime.run(asked).stdout == f"{ask.skill_root}/decimal.py\n"


@pytest.mark.parametrize("other", [{"limits": Limits(pids=99)}, {"network": "host"}, {"environment": {"LANG": "C"}}])
def test_only_imports_may_differ(warm_runtime: WarmRuntime, ask: RunRequest, other: dict[str, object]) -> None:
    warm_runtime.run(ask)
    assert warm_runtime.run(replace(ask, **other)).success  # type: ignore[arg-type]
    assert [one.runs for one in warm_runtime.pool.interpreters()] == [1, 1]


def test_the_one_that_lacks_least_is_best_and_of_those_the_one_with_least_too_much(ask: RunRequest) -> None:
    def recipe(words: str) -> Recipe:
        return recipe_for(replace(ask, preload=tuple(words.split())))

    offers = [recipe(words) for words in ("", "a", "b a c d", "a b c", "x y")]
    assert best_first(recipe("a b"), offers) == [3, 2, 1, 0, 4]
    assert best_first(offers[1], [*offers, offers[1]]) == [5, 1]
