"""What a conversation was handed lies in the work folder of its runs, and nowhere else."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.harness import Bench
from tests.conformance.table import applies

from skillfleet_workers.runtimes.base import Limits

LISTED = """
import json, os
folder = os.environ.get("SKILLFLEET_INPUT_DIR", "")
print(json.dumps({
    os.path.relpath(os.path.join(at, name), folder): os.path.getsize(os.path.join(at, name))
    for at, _, names in os.walk(folder) for name in names
}))
"""
CHANGED = """
import os
folder = os.environ["SKILLFLEET_INPUT_DIR"]
assert folder == os.path.join(os.environ["HOME"], "inputs")
with open(folder + "/data.csv", "a") as file:
    file.write("more")
print(open(folder + "/data.csv").read())
"""


@pytest.fixture
def handed(bench: Bench) -> dict[str, Path]:
    """An empty one, one in a folder, one beyond any buffer."""
    contents = {"data.csv": b"a,b\n", "a folder/\u00e4.txt": b"\xff", "none": b"", "large": b"0123456789" * 200_000}
    named = {}
    for number, (name, content) in enumerate(contents.items()):
        named[name] = bench.folder / f"blob {number}"
        named[name].write_bytes(content)
        named[name].chmod(0o444)
    return named


def seen(bench: Bench, **more: Any) -> Any:
    done = bench.run(LISTED, **more)
    assert (done.status, done.stderr, done.error) == ("succeeded", "", None)
    return json.loads(done.stdout)


@applies("request")
class TestInputs:
    def test_are_there_for_the_run_and_gone_for_the_next(self, bench: Bench, handed: dict[str, Path]) -> None:
        assert seen(bench, inputs=handed) == {name: file.stat().st_size for name, file in handed.items()}
        assert seen(bench) == {}
        other = {"theirs": handed["none"]}
        assert seen(bench, inputs=other) == {"theirs": 0}

    def test_are_copies_that_the_script_may_change(self, bench: Bench, handed: dict[str, Path]) -> None:
        for _ in range(2):
            done = bench.run(CHANGED, inputs=handed)
            assert (done.stdout, done.stderr) == ("a,b\nmore\n", "")
        assert handed["data.csv"].read_bytes() == b"a,b\n"

    def test_are_as_many_as_a_conversation_may_have(self, bench: Bench, handed: dict[str, Path]) -> None:
        many = {f"folder {number}/file": handed["data.csv"] for number in range(64)}
        assert len(seen(bench, inputs=many)) == 64

    @pytest.mark.parametrize(
        "names",
        [("../out",), ("/tmp/out",), ("a/../../out",), ("",), ("a\0b",), ("\udcff",), ("n" * 256,), ("a", "a/b")],
        ids=ascii,
    )
    def test_of_hostile_names_get_nowhere(
        self, bench: Bench, handed: dict[str, Path], names: tuple[str, ...]
    ) -> None:
        done = bench.run(LISTED, inputs={"fine": handed["none"], **dict.fromkeys(names, handed["data.csv"])})
        assert (done.status, done.returncode, done.stdout) == ("failed", None, "")
        assert "an input has a name that cannot be used" in str(done.error)
        assert not list(Path("/tmp").glob("out"))

    def test_that_do_not_fit_are_told_of(self, bench: Bench, handed: dict[str, Path]) -> None:
        done = bench.run(LISTED, inputs=handed, limits=Limits(disk_mb=1))
        assert (done.status, done.returncode) == ("failed", None)
        assert done.error == "the inputs need more than the 1 MB that the skill may use; nothing ran"
