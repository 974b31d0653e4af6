"""The size and the vocabulary that the design allows."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(f for top in ("orchestrator", "workers") for f in (ROOT / top).rglob("*.py"))
OURS = sorted(
    f for top in ("orchestrator", "workers", "tests", "bench", "skills") for f in (ROOT / top).rglob("*.py")
)
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
MEDIAN_FILE_LINES = 130
FORBIDDEN_NAMES = re.compile(r"(^|_)(utils?|helpers?|managers?|common|jobs?)(_|$)")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> list[Function]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, Function)]


@pytest.mark.parametrize("path", OURS, ids=name_of)
def test_no_file_is_over_its_budget(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_function_is_over_its_budget(path: Path) -> None:
    too_long = {
        node.name: length
        for node in functions(path)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert not too_long


def test_files_stay_around_a_hundred_lines() -> None:
    sizes = sorted(len(path.read_text().splitlines()) for path in SOURCES)
    assert sizes[len(sizes) // 2] <= MEDIAN_FILE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_module_has_a_name_that_says_nothing(path: Path) -> None:
    assert not FORBIDDEN_NAMES.search(path.stem)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_the_code_is_synchronous(path: Path) -> None:
    assert not [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_nothing_waits_for_a_celery_result(path: Path) -> None:
    names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert not names & {"AsyncResult", "ResultSet", "GroupResult", "apply", "chord"}


def test_the_engine_is_pure() -> None:
    pure = ["engine.py", "schedule.py", "moves.py", "models.py", "messages.py", "report.py", "descent.py"]
    for file in pure:
        tree = ast.parse((ROOT / "orchestrator/skillfleet/conversations" / file).read_text())
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name.partition(".")[0] for name in modules} & {
            "redis",
            "celery",
            "time",
            "random",
            "os",
            "threading",
        }
