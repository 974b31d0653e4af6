"""Which of the interpreters that wait serves a run that none was made for."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.harness import eventually
from tests.conftest import Require
from tests.workers.warm_parts import environment_with, make

from skillfleet_workers.runtimes.base import Limits, RunRequest
from skillfleet_workers.runtimes.isolation import sandbox_trouble
from skillfleet_workers.runtimes.warm.recipe import Recipe, best_first, recipe_for
from skillfleet_workers.runtimes.warm.runtime import WarmRuntime

LOADED = "import sys; print('decimal' in sys.modules, 'fractions' in sys.modules)"


@pytest.fixture
def runtime(require: Require) -> Iterator[WarmRuntime]:
    trouble = sandbox_trouble()
    require(not trouble, f"a sandbox: {trouble}")
    made = make()
    yield made
    made.close()


@pytest.fixture
def ask(tmp_path: Path) -> RunRequest:
    skill = tmp_path / "skill"
    skill.mkdir()
    interpreter = environment_with(tmp_path / "venv", "empty.py", "")
    return RunRequest("s", skill, interpreter, LOADED, {"PATH": "/usr/bin:/bin"}, 30)


def imports(runtime: WarmRuntime) -> list[tuple[str, ...]]:
    return sorted(one.recipe.imports for one in runtime.pool.interpreters())


def test_one_that_has_imported_more_serves(runtime: WarmRuntime, ask: RunRequest) -> None:
    assert runtime.run(replace(ask, preload=("json", "decimal"))).stdout == "True False\n"
    for fewer in (("decimal",), ("decimal", "json"), ()):
        assert runtime.run(replace(ask, preload=fewer)).stdout == "True False\n"
    assert [one.runs for one in runtime.pool.interpreters()] == [4]


def test_one_that_has_imported_less_serves_at_once_and_one_that_fits_takes_its_place(
    runtime: WarmRuntime, ask: RunRequest
) -> None:
    runtime.run(ask)
    assert runtime.run(replace(ask, preload=("decimal",))).stdout == "False False\n"
    assert eventually(lambda: imports(runtime) == [("decimal",)])
    assert runtime.run(replace(ask, preload=("decimal",))).stdout == "True False\n"
    assert runtime.run(ask).success and imports(runtime) == [("decimal",)]


def test_those_that_have_imported_different_things_are_both_kept(runtime: WarmRuntime, ask: RunRequest) -> None:
    runtime.run(replace(ask, preload=("decimal",)))
    assert runtime.run(replace(ask, preload=("fractions", "csv"))).stdout == "True False\n"
    assert eventually(lambda: imports(runtime) == [("decimal",), ("fractions", "csv")])
    assert runtime.run(replace(ask, preload=("decimal",))).stdout == "True False\n"
    assert "True\n" in runtime.run(replace(ask, preload=("csv",))).stdout


def test_runs_at_the_same_time_have_an_interpreter_each(runtime: WarmRuntime, ask: RunRequest) -> None:
    sleeper = replace(ask, script="import time; time.sleep(0.3)", preload=("decimal",))
    with ThreadPoolExecutor(2) as beside:
        assert all(done.success for done in beside.map(runtime.run, [sleeper, sleeper]))
    assert imports(runtime) == [("decimal",), ("decimal",)]


def test_a_module_that_the_skill_has_by_now_is_not_one_that_was_imported_ahead(
    runtime: WarmRuntime, ask: RunRequest
) -> None:
    environment = {**ask.environment, "PYTHONPATH": str(ask.skill_root)}
    asked = replace(ask, environment=environment, script="import decimal; print(decimal.__file__)")
    assert "skill/" not in runtime.run(replace(asked, preload=("decimal",))).stdout
    (ask.skill_root / "decimal.py").write_text("")
    assert runtime.run(asked).stdout == f"{ask.skill_root}/decimal.py\n"


@pytest.mark.parametrize("other", [{"limits": Limits(pids=99)}, {"network": "host"}, {"environment": {"LANG": "C"}}])
def test_only_imports_may_differ(runtime: WarmRuntime, ask: RunRequest, other: dict[str, object]) -> None:
    runtime.run(ask)
    assert runtime.run(replace(ask, **other)).success  # type: ignore[arg-type]
    assert [one.runs for one in runtime.pool.interpreters()] == [1, 1]


def test_the_one_that_lacks_least_is_best_and_of_those_the_one_with_least_too_much(ask: RunRequest) -> None:
    def recipe(words: str) -> Recipe:
        return recipe_for(replace(ask, preload=tuple(words.split())))

    offers = [recipe(words) for words in ("", "a", "b a c d", "a b c", "x y")]
    assert best_first(recipe("a b"), offers) == [3, 2, 1, 0, 4]
    assert best_first(offers[1], [*offers, offers[1]]) == [5, 1]
