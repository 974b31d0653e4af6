"""Files on a fleet: handed in by people, brought by scripts, seen by models."""

import json
import secrets
import shutil
from pathlib import Path

import pytest
from tests.model_requests import images
from tests.pictures import png
from tests.system.conftest import Shared
from tests.system.fleet import Place
from tests.system.replies import Turn, call, python

from skillfleet_workers.wire.artifacts import STORE

FAILED = 1
PICTURE = png(grey=77)
DRAW = '''"""Draw the numbers as a bar chart."""
import hashlib, json, os, pathlib, struct, sys, zlib

bars = json.load(sys.stdin)["bars"]
height = max(bars)
rows = b"".join(
    b"\\x00" + b"".join((b"\\x00" if bar > height - y else b"\\xff") * 4 for bar in bars) for y in range(1, height + 1)
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


def plotter(place: Place) -> str:
    """A new skill that draws."""
    name = f"plotter-{secrets.token_hex(3)}"
    scripts = place.skills / name / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "draw.py").write_text(DRAW)
    (scripts.parent / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Draws charts.\n---\nDraw charts.\n")
    return name


def drawing(place: Place) -> tuple[Turn, ...]:
    draw = call(
        "run_skill_script", "chart", skill_name=plotter(place), script="draw", arguments={"bars": [3, 1, 4, 1, 5]}
    )
    return [draw], "${chart.stdout}"


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_chart_that_a_skill_draws_is_seen_by_the_model_and_fetched_by_people(shared: Shared, wire: str) -> None:
    place, model = shared.place, shared.provider.plays(*drawing(shared.place))
    done = place.cli("submit", "--json", "--model", f"{wire}:{model}", "Chart 3, 1, 4, 1, 5.")
    report = json.loads(done.stdout)
    assert report["status"] == "completed", report
    digest = report["answer"].strip()

    listed = json.loads(place.cli("artifacts", "--json", report["id"]).stdout)
    assert listed == report["artifacts"]
    assert [(one["call"], one["path"], one["media_type"]) for one in listed] == [
        ("1.1", "bars.csv", "text/csv"), ("1.1", "charts/bars.png", "image/png"),
    ]  # fmt: skip
    assert listed[1]["digest"] == digest

    folder = place.folder / f"saved-{wire}"
    saved = place.cli("artifacts", "--save", str(folder), report["id"])
    assert (saved.returncode, saved.stderr) == (0, "")
    assert saved.stdout.splitlines() == [f"{folder}/1.1/bars.csv", f"{folder}/1.1/charts/bars.png"]
    chart = (folder / "1.1/charts/bars.png").read_bytes()
    assert (folder / "1.1/bars.csv").read_text().splitlines() == ["3", "1", "4", "1", "5"]

    first, second = shared.provider.received(model)
    assert (images(first.body), images(second.body)) == ([], [chart])


def test_what_is_handed_in_reaches_the_model_and_its_scripts(shared: Shared) -> None:
    place, model = shared.place, shared.provider.plays([python(READ, "found")], "${found.stdout}")
    (place.folder / "see.png").write_bytes(PICTURE)
    (place.folder / "data.csv").write_text("a,b\n")
    handed = ("--image", "see.png", "--file", "data.csv")
    report = json.loads(place.cli("submit", "--json", "--model", model, *handed, "What is this?").stdout)
    assert report["answer"] == f"data.csv 4;see.png {len(PICTURE)};", report
    asked = [one.body for one in shared.provider.received(model)]
    assert [images(body) for body in asked] == [[PICTURE], [PICTURE]]
    assert "data.csv (text/csv, 4 bytes)" in str(asked[0]["messages"][-1])

    again = shared.place.script([python(READ, "found")], "${found.stdout}")
    with place.fleet() as fleet:
        later = fleet.submit("And now?", continues=report["id"], model=again, files=[("data.csv", b"12")])
        answer = fleet.result(later).answer
    assert answer == f"data-2.csv 2;data.csv 4;see.png {len(PICTURE)};"


def test_each_conversation_of_a_batch_has_the_files_of_its_line(shared: Shared) -> None:
    place = shared.place
    folder = place.folder / "batch"
    folder.mkdir()
    (folder / "one.txt").write_text("1")
    lines = [{"prompt": "a", "files": ["one.txt"]}, {"prompt": "b", "files": ["one.txt", "two.txt"]}]
    (folder / "two.txt").write_text("22")
    (folder / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    model = place.script([python(READ, "found")], "${found.stdout}")
    done = place.cli("submit", "--json", "--model", model, "--batch", "batch/batch.jsonl")
    answers = [json.loads(line)["answer"] for line in done.stdout.splitlines()]
    assert answers == ["one.txt 1;", "one.txt 1;two.txt 2;"]


def test_what_can_t_be_saved_is_named_and_the_rest_is(shared: Shared, tmp_path: Path) -> None:
    place = shared.place
    report = json.loads(place.cli("submit", "--json", "--model", place.script(*drawing(place)), "Chart.").stdout)
    chart = report["artifacts"][1]
    kept = place.state_dir / STORE / "sha256" / chart["digest"][:2] / chart["digest"]
    aside = shutil.move(kept, tmp_path / "aside")
    try:
        done = place.cli("artifacts", "--save", str(tmp_path / "to"), report["id"])
    finally:
        shutil.move(aside, kept)
    assert done.returncode == FAILED
    assert done.stdout == f"{tmp_path}/to/1.1/bars.csv\n"
    (line,) = done.stderr.splitlines()
    assert f"{tmp_path}/to/1.1/charts/bars.png: is not saved: " in line

    (tmp_path / "to/1.1/bars.csv").write_text("mine")
    done = place.cli("artifacts", "--json", "--save", str(tmp_path / "to"), report["id"])
    assert [one["outcome"] for one in json.loads(done.stdout)] == ["differs", "written"]
    assert (done.returncode, (tmp_path / "to/1.1/bars.csv").read_text()) == (FAILED, "mine")


def test_the_table_says_which_call_brought_what(shared: Shared) -> None:
    place = shared.place
    report = json.loads(place.cli("submit", "--json", "--model", place.script(*drawing(place)), "Chart.").stdout)
    told = place.cli("artifacts", report["id"]).stdout.splitlines()
    assert [line.split() for line in told] == [
        ["call", "path", "bytes", "type"],
        ["1.1", "bars.csv", "9", "text/csv"],
        ["1.1", "charts/bars.png", str(report["artifacts"][1]["bytes"]), "image/png"],
    ]
    assert "2 files: skillfleet artifacts" in place.cli("status", report["id"]).stdout
    nothing = json.loads(place.cli("submit", "--json", "--model", place.script("42"), "Hello?").stdout)
    assert place.cli("artifacts", nothing["id"]).stdout == "No script has brought a file.\n"
