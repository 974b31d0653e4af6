"""Files on a fleet: handed in by people, brought by scripts, seen by models."""

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.model_requests import images
from tests.pictures import png
from tests.system.conftest import Shared
from tests.system.replies import Turn, call, python

from skillfleet.batch import read_batch
from skillfleet.conversations.report import Report
from skillfleet_workers.wire.artifacts import STORE

ROOT = Path(__file__).parents[2]
FAILED = 1
PICTURE = png(grey=77)
DRAW = '''"""Draw the numbers as a bar chart."""
import hashlib, json, os, pathlib, struct, sys, zlib

bars = json.load(sys.stdin)["bars"]
height = max(bars)
rows = b"".join(
    b"\\x00" + b"".join((b"\\x00" if bar >= y else b"\\xff") * 4 for bar in bars) for y in range(height, 0, -1)
)

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

header = struct.pack(">IIBBBBB", 4 * len(bars), height, 8, 0, 0, 0, 0)
image = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
output = pathlib.Path(os.environ["SKILLFLEET_OUTPUT_DIR"])
(output / "charts").mkdir()
(output / "charts/bars.png").write_bytes(image)
(output / "bars.csv").write_text("\\n".join(map(str, bars)))
print(hashlib.sha256(image).hexdigest())
'''
READ = """
import os, pathlib
for path in sorted(pathlib.Path(os.environ["SKILLFLEET_INPUT_DIR"]).iterdir()):
    print(path.name, len(path.read_bytes()), end=";")
"""


def drawing(shared: Shared) -> tuple[Turn, ...]:
    """By a skill that draws."""
    if not (shared.place.skills / "plotter").is_dir():
        text = "---\nname: plotter\ndescription: Draws charts.\n---\nDraw charts.\n"
        shared.place.add_skill("plotter", {"SKILL.md": text, "scripts/draw.py": DRAW})
    given = {"bars": [3, 1, 4, 1, 5]}
    return [call("run_skill_script", skill_name="plotter", script="draw", arguments=given)], "There it is."


@pytest.fixture(scope="module")
def charted(shared: Shared) -> Report:
    """A conversation whose script has drawn a chart."""
    with shared.place.fleet() as fleet:
        return fleet.result(fleet.submit("Chart 3, 1, 4, 1, 5.", model=shared.place.script(*drawing(shared))))


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_chart_that_a_skill_draws_is_seen_by_the_model_and_fetched_by_people(
    shared: Shared, tmp_path: Path, wire: str
) -> None:
    model = shared.provider.plays(*drawing(shared))
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("Chart 3, 1, 4, 1, 5.", model=f"{wire}:{model}"))
        assert report.status == "completed", report.error
        (shown,) = [one.content for one in fleet.transcript(report.id).messages if one.role == "tool"]
    saved = shared.place.cli("artifacts", "--save", str(tmp_path), report.id)
    assert (saved.returncode, saved.stderr) == (0, "")
    assert saved.stdout.splitlines() == [f"{tmp_path}/1.0/bars.csv", f"{tmp_path}/1.0/charts/bars.png"]
    chart = (tmp_path / "1.0/charts/bars.png").read_bytes()
    assert hashlib.sha256(chart).hexdigest() == json.loads(shown or "")["stdout"].strip()
    first, second = shared.provider.received(model)
    assert (images(first.body), images(second.body)) == ([], [chart])


def test_the_table_says_which_call_brought_what(shared: Shared, charted: Report) -> None:
    told = shared.place.cli("artifacts", charted.id).stdout.splitlines()
    assert [line.split() for line in told] == [
        ["call", "path", "bytes", "type"],
        ["1.0", "bars.csv", "9", "text/csv"],
        ["1.0", "charts/bars.png", str(charted.artifacts[1].bytes), "image/png"],
    ]
    assert json.loads(shared.place.cli("artifacts", "--json", charted.id).stdout) == charted.as_json()["artifacts"]


def test_what_can_t_be_saved_is_named_and_the_rest_is(shared: Shared, charted: Report, tmp_path: Path) -> None:
    digest = charted.artifacts[1].digest
    kept = shared.place.state_dir / STORE / "sha256" / digest[:2] / digest
    aside = shutil.move(kept, tmp_path / "aside")
    try:
        done = shared.place.cli("artifacts", "--save", str(tmp_path / "to"), charted.id)
    finally:
        shutil.move(aside, kept)
    assert (done.returncode, done.stdout) == (FAILED, f"{tmp_path}/to/1.0/bars.csv\n")
    (line,) = done.stderr.splitlines()
    assert f"{tmp_path}/to/1.0/charts/bars.png: is not saved: " in line

    (tmp_path / "to/1.0/bars.csv").write_text("mine")
    done = shared.place.cli("artifacts", "--json", "--save", str(tmp_path / "to"), charted.id)
    assert [one["outcome"] for one in json.loads(done.stdout)] == ["differs", "written"]
    assert (done.returncode, (tmp_path / "to/1.0/bars.csv").read_text()) == (FAILED, "mine")


def readme_commands(word: str) -> list[list[str]]:
    """Those of the example of the README that has this word."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (example,) = [block for block in blocks if word in block]
    return [shlex.split(line)[1:] for line in example.splitlines()]


def test_the_readme_s_example_shows_images_hands_in_files_and_saves_what_comes_back(shared: Shared) -> None:
    place = shared.place
    (place.folder / "petals.png").write_bytes(PICTURE)
    (place.folder / "iris.csv").write_text("a,b\n")
    submit, fetch = readme_commands("--image")
    model = shared.provider.plays([python(READ, "found"), *drawing(shared)[0]], "${found.stdout}")
    report = json.loads(place.cli(*submit, "--json", "--model", model).stdout)
    assert report["answer"] == f"iris.csv 4;petals.png {len(PICTURE)};", report
    asked = [one.body for one in shared.provider.received(model)]
    assert images(asked[0]) == [PICTURE]
    assert "iris.csv (text/csv, 4 bytes)" in str(asked[0]["messages"][-1])
    saved = place.cli(*(report["id"] if word == "ID" else word for word in fetch))
    assert saved.stdout.splitlines() == ["out/1.1/bars.csv", "out/1.1/charts/bars.png"]
    assert images(asked[1]) == [PICTURE, (place.folder / "out/1.1/charts/bars.png").read_bytes()]


def test_who_goes_on_has_the_files_of_before_and_new_ones(shared: Shared) -> None:
    model = shared.place.script([python(READ, "found")], "${found.stdout}")
    with shared.place.fleet() as fleet:
        first = fleet.submit(
            "What is this?", model=model, images=[("see.png", PICTURE)], files=[("data.csv", b"1234")]
        )
        assert fleet.result(first).answer == f"data.csv 4;see.png {len(PICTURE)};"
        later = fleet.submit("And now?", continues=first, model=model, files=[("data.csv", b"12")])
        assert fleet.result(later).answer == f"data-2.csv 2;data.csv 4;see.png {len(PICTURE)};"


def test_each_conversation_of_a_batch_has_the_files_of_its_line(shared: Shared, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1")
    (tmp_path / "two.txt").write_text("22")
    lines = [{"prompt": "a", "files": ["one.txt"]}, {"prompt": "b", "files": ["one.txt", "two.txt"]}]
    (tmp_path / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = read_batch(
        tmp_path / "batch.jsonl", {"model": shared.place.script([python(READ, "found")], "${found.stdout}")}
    )
    with shared.place.fleet() as fleet:
        answers = [fleet.result(name).answer for name in [*fleet.submit_batch(asked)]]
    assert answers == ["one.txt 1;", "one.txt 1;two.txt 2;"]
