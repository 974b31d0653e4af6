"""Structured answers, recordings and evals on a real fleet, with a provider over HTTP."""

import json
import os
import re
import secrets
import shlex
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel
from tests.system.conftest import Shared
from tests.system.fleet import Place, interrupt, running_fleet, state_of, wait_for, wait_until_known
from tests.system.replies import Held, call, holding, python
from tests.system.servers import RedisServer

from skillfleet.cli.exits import INTERRUPTED
from skillfleet.fleet import Fleet

ROOT = Path(__file__).parents[2]
PROVIDERS = ("", "anthropic:")
"""How the name of a model chooses the wire format in which it is asked."""

ANSWERING = ([python("print(6 * 7)", "six")], "It is ${six.stdout}.")


class Number(BaseModel):
    n: int


def recorded(fleet: Fleet, place: Place, model: str, prompt: str = "How much is 6 * 7?") -> Path:
    ended = fleet.result(fleet.submit(prompt, model=model, record=True))
    path = place.folder / f"{ended.id}.json"
    path.write_text(json.dumps(fleet.record(ended.id)))
    return path


def test_an_answer_that_does_not_fit_is_corrected_by_the_model(shared: Shared) -> None:
    model = shared.provider.plays("Forty-two.", '```json\n{"n": 42}\n```')
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("How much is 6 * 7?", model=model, schema=Number))
    assert (report.status, report.answer, report.turns) == ("completed", '{"n": 42}', 2)
    assert report.data_as(Number) == Number(n=42)

    first, second = (request.body["messages"] for request in shared.provider.received(model))
    assert '"n"' in first[0]["content"], "it is told the schema"
    assert second[-1]["role"] == "user" and "does not fit" in second[-1]["content"]


def test_submit_prints_the_json_alone(shared: Shared) -> None:
    (shared.place.folder / "number.yaml").write_text("type: object\nrequired: [n]\n")
    model = shared.place.script('```json\n{"n": 42}\n```')
    done = shared.place.cli("submit", "--model", model, "--schema", "number.yaml", "How much?")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"n": 42}), done.stderr


def test_the_readme_s_example_asks_either_provider_and_follows_its_reply(shared: Shared) -> None:
    (shared.place.folder / "number.json").write_text('{"type": "object", "required": ["n"]}')
    (block,) = re.findall(
        r"```sh\n(skillfleet submit --follow [^`]*anthropic:[^`]*)```", (ROOT / "README.md").read_text()
    )
    for line in block.splitlines():
        model = shared.provider.plays('{"n": 42}')
        asked = re.sub(r"(openai|anthropic):\S+", rf"\g<1>:{model}", line)
        done = shared.place.cli(*shlex.split(asked)[1:])
        assert (done.returncode, json.loads(done.stdout)) == (0, {"n": 42}), done.stderr
        (request,) = shared.provider.received(model)
        assert request.path.endswith("/messages" if "anthropic:" in line else "/chat/completions")
        assert request.body["stream"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_recording_plays_back_with_the_same_answer_and_no_divergence(shared: Shared, provider: str) -> None:
    model = provider + shared.provider.plays(*ANSWERING)
    with shared.place.fleet() as fleet:
        path = recorded(fleet, shared.place, model)
        then = json.loads(path.read_text())
        asked = len(shared.provider.received(model))
        now = fleet.result(fleet.submit(model=f"replay:{path}"))
    assert (now.status, now.answer, now.turns) == ("completed", "It is 42.", 2)
    assert now.divergences == ()
    assert [made.status for made in now.tool_calls] == ["succeeded"], "its tools really ran"
    assert now.usage.input_tokens == sum(turn["usage"]["input_tokens"] for turn in then["turns"]) > 0
    assert now.usage.cost == 0
    assert len(shared.provider.received(model)) == asked, "no provider was asked"


def test_a_skill_that_has_changed_diverges_in_the_place_where_it_shows(shared: Shared) -> None:
    name = f"price-{secrets.token_hex(3)}"
    text = f"---\nname: {name}\ndescription: Tells a price.\n---\nRun price.\n"
    folder = shared.place.add_skill(name, {"SKILL.md": text, "scripts/price.py": "print('19')\n"})
    model = shared.place.script([call("run_skill_script", "p", skill_name=name, script="price")], "It costs 19.")
    with shared.place.fleet() as fleet:
        wait_until_known(shared.place, name)
        path = recorded(fleet, shared.place, model)
        before = state_of(shared.place, name)
        shared.place.rewrite(folder / "scripts/price.py", "print('23')\n")
        wait_until_known(shared.place, name, other_than=before)
        report = fleet.result(fleet.submit(model=f"replay:{path}"))
    (shown,) = [one for one in report.divergences if one.place == "messages[3].stdout"]
    assert (shown.turn, shown.then, shown.now) == (2, "19\n", "23\n")


def test_submit_writes_a_recording_for_its_owner_only_and_tells_what_diverges(shared: Shared) -> None:
    path = shared.place.folder / "kept.json"
    model = shared.place.script(*ANSWERING)
    done = shared.place.cli("submit", "--model", model, "--record", str(path), "How much?")
    assert (done.returncode, done.stdout) == (0, "It is 42.\n"), done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    done = shared.place.cli("submit", "--model", f"replay:{path}", "How many?")
    assert (done.returncode, done.stdout) == (0, "It is 42.\n")
    assert 'messages[1].content was "How much?" and is "How many?"' in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("submit", "--record", "r.json", "--detach", "Hi"), "--record"),
        (("eval", "gone.yaml"), "gone.yaml"),
    ],
)
def test_what_cannot_be_used_is_one_line(shared: Shared, arguments: tuple[str, ...], told: str) -> None:
    done = shared.place.cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert told in line


def test_an_eval_tells_what_passed_and_what_failed(shared: Shared) -> None:
    folder = shared.place.folder / "evals"
    folder.mkdir()
    name = shared.place.script(*ANSWERING).partition(":")[2]
    checks = {"contains": "42", "tools_used": ["run_python_script"], "script_exit": {"lab": 0}}
    cases = [
        {"name": "good", "prompt": "How much?", "checks": checks},
        {"name": "bad", "prompt": "How much?", "checks": {"contains": "43", "tools_used": ["run_python_script"]}},
    ]
    (folder / "eval.json").write_text(json.dumps({"model": f"scripted:{name}", "timeout": 60, "cases": cases}))
    done = shared.place.cli("eval", str(folder / "eval.json"), "--json", "--junit", str(folder / "junit.xml"))

    told = json.loads(done.stdout)
    assert (done.returncode, told["passed"], told["failed"]) == (1, 1, 1), done.stderr
    good, bad = told["cases"]
    assert (good["passed"], good["turns"], bad["passed"]) == (True, 2, False)
    assert bad["failed"] == ["contains: no '43'; the answer is 'It is 42.'"]
    (suite,) = ElementTree.parse(folder / "junit.xml").getroot()
    assert [len(case) for case in suite] == [0, 1]


def test_an_interrupted_eval_cancels_what_is_open(shared: Shared) -> None:
    held = Held()
    cases = {
        "model": shared.place.script([holding(held)], "Never said."),
        "cases": [{"name": "a", "prompt": "Wait."}],
    }
    (shared.place.folder / "waiting.json").write_text(json.dumps(cases))
    waiting = shared.place.start("eval", "waiting.json")
    wait_for(held.runs, "its script runs")
    assert interrupt(waiting) == INTERRUPTED
    wait_for(lambda: not held.runs(), "its script is dead")
    with shared.place.fleet() as fleet:
        assert fleet.list(1)[0].status == "cancelled"


def test_the_readmes_examples_do_what_it_says(place: Place) -> None:
    (block,) = re.findall(r"```sh\n(skillfleet submit [^`]*--record [^`]*)```", (ROOT / "README.md").read_text())
    place.add_skill("csv-insights", ROOT / "skills/csv-insights")
    with RedisServer(place.folder / "redis") as server:
        here = Place(place.folder, {**of_uv(), "SKILLFLEET_REDIS_URL": server.url})
        with running_fleet(here, workers=1):
            for line in block.splitlines():
                done = here.cli(*shlex.split(line, comments=True)[1:])
                assert done.returncode == 0, (line, done.stdout, done.stderr)
                assert "virginica" in done.stdout or "1 passed" in done.stdout
                assert "diverges" not in done.stderr


def of_uv() -> dict[str, str]:
    """From where, and how, this machine gets packages."""
    ways = ("uv_", "ssl_", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
    return {name: value for name, value in os.environ.items() if name.lower().startswith(ways)}
