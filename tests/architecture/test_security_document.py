"""What docs/security.md claims is shown by tests that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
LEVELS = ("process", "sandbox", "container")


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_is_named_exists() -> None:
    named = NAMED.findall((ROOT / "docs/security.md").read_text())
    assert named
    assert not [f"{path}::{name}" for path, name in named if name not in functions_of(ROOT / path)]


def test_every_claim_of_the_table_names_its_test() -> None:
    lines = (ROOT / "docs/security.md").read_text().splitlines()
    (head,) = [number for number, line in enumerate(lines) if line.startswith("| threat |")]
    claims = [line.strip("| ").split(" | ") for line in lines[head + 2 : lines.index("", head)]]
    assert lines[head].strip("| ").split(" | ")[1:4] == list(LEVELS)
    assert not [claim for claim in claims if len(claim) != 5 or not NAMED.search(claim[-1])]
