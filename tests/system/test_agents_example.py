"""The README's example of subagents, from the command line on a fleet of its own."""

import json
import re
import shlex
import shutil
from pathlib import Path

from tests.system.fleet import Place
from tests.system.replies import Turn, call, python

README = (Path(__file__).parents[2] / "README.md").read_text()
(EXAMPLE,) = re.findall(r"```sh\n(skillfleet submit --follow --subagents .*\n.*)\n```", README)


def test_the_readme_s_example_shows_subagents_as_they_begin_and_end(place: Place) -> None:
    submitting, listing = (shlex.split(line)[1:] for line in EXAMPLE.splitlines())
    spawning = [call("spawn_subagent", name, name=name, prompt=f"How big is {name}?") for name in ("iris", "penguin")]
    children: dict[str, list[Turn]] = {
        "iris": [[python("print(7)", "size")], "${size.stdout} cm"],
        "penguin": [[python("print(90)", "size")], "${size.stdout} cm"],
    }
    model = place.script(spawning, "Irises have ${iris}, penguins ${penguin}.", children=children)
    done = place.cli(*submitting, "--model", model)
    assert (done.returncode, done.stdout) == (0, "Irises have 7 cm, penguins 90 cm.\n"), done.stderr
    told = [line.split() for line in done.stderr.splitlines()]
    (root,) = [words[-1].strip("()") for words in told if words[0] == "completed"]
    for child in (f"{root}-1-0", f"{root}-1-1"):
        seen = [words[-1] for words in told if child in words]
        assert seen == ["queued", "completed"]
    lines = [line.split() for line in place.cli(*listing).stdout.splitlines()]
    assert lines[0] == [root, "completed", *["Irises", "have", "7", "cm,", "penguins", "90", "cm."]]
    assert lines[1][1:] == [f"{root}-1-0", "iris", "completed", "7", "cm"]
    assert lines[2][1:] == [f"{root}-1-1", "penguin", "completed", "90", "cm"]
    status = place.cli("status", root).stdout
    assert re.search(rf"^{root}-1-1 +penguin +completed +.* 90 cm", status, re.MULTILINE), status


def test_the_readme_s_example_runs_a_skill_that_ships_without_a_model(place: Place) -> None:
    (example,) = re.findall(r"```sh\n(skillfleet agent run .*)\n(skillfleet history .*)\n```", README)
    shutil.copytree(Path(__file__).parents[2] / "skills/calculator", place.skills / "calculator")
    running, asking = (shlex.split(line)[1:] for line in example)
    done = place.cli(*running, "--follow", env={"FORCE_COLOR": "1", "TERM": "xterm"})
    assert "waiting for a worker to tell which skills it can run" in done.stderr
    assert (done.returncode, json.loads(done.stdout)) == (0, {"value": 42.1648128, "unit": "km"}), done.stderr
    told = place.cli(*asking)
    assert (told.returncode, "calculator" in told.stdout) == (0, True), told.stderr
