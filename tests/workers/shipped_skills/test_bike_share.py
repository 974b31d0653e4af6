"""The skill in code mode: what its spec promises is what its service answers, and both tools work on it."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.workers.shipped_skills.bench import SKILLS, Bench
from tests.workers.strongest import strongest

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.tools import CallContext, Toolbox
from skillfleet_workers.wire.contract import CallRef, Document, ExecuteCode, GetSkill, SearchSpec
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.shown import shown_to_model

NAME = "bike-share"
SPEC: dict[str, Any] = json.loads((SKILLS / NAME / "openapi.json").read_text())
CONTEXT = CallContext(CallRef(conversation_id="c", turn=1, index=0), None, threading.Event())
REFUSALS = [
    ('get("/trip")', "404: no path '/trip'; paths: /zones, "),
    ('get("/trips", {"form": "S01"})', "400: /trips has no parameter 'form'; parameters: from, to"),
    ('get("/zones", {"x": 1})', "400: /zones has no parameter 'x'; it has none"),
    ('get("/bikes", {"model": "tandem"})', "400: model is 'tandem'; it is one of city, cargo, electric"),
    ('get("/bikes/B999")', "404: no id 'B999' in bikes; ids: B001 to B048"),
    ('get("/trips", {"limit": "3"})', "400: limit is '3', and not of type integer"),
    ('get("/trips", {"limit": 0})', "400: limit is 0; it is 1 or more"),
]


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("bike-share")
    with strongest(folder) as runtime:
        yield Toolbox(SkillCatalog(SKILLS), Environments(folder / "environments"), runtime, 60, folder / "artifacts")


def outcome(run: object) -> Any:
    assert isinstance(run, ScriptExecution) and run.success, run
    return run.result


def code_of(number: int) -> str:
    """Of SKILL.md's samples."""
    return (SKILLS / NAME / "SKILL.md").read_text().split("```python\n")[number + 1].partition("```")[0]


def test_every_path_of_the_spec_answers_what_the_spec_promises(bench: Bench) -> None:
    code = (
        "import json, re; from bikes.client import get\n"
        "ids = {'zoneId': 'Z2', 'stationId': 'S04', 'bikeId': 'B002', 'tripId': 'T0007'}\n"
        "paths = json.load(open('openapi.json'))['paths']\n"
        "print(json.dumps({path: get(re.sub('{(.*?)}', lambda m: ids[m[1]], path)) for path in paths}))"
    )
    answers = bench.python(NAME, code)
    for path, operations in SPEC["paths"].items():
        content = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        rows = answers[path] if content.get("type") == "array" else [answers[path]]
        name = content.get("items", content)["$ref"].rpartition("/")[2]
        schema = SPEC["components"]["schemas"][name]
        assert rows and all(set(row) == set(schema["required"]) == set(schema["properties"]) for row in rows), path
        enums = {key: about["enum"] for key, about in schema["properties"].items() if "enum" in about}
        assert all(row[key] in allowed for row in rows for key, allowed in enums.items()), path


def test_each_parameter_narrows_the_answer(bench: Bench) -> None:
    code = """
import json; from bikes.client import get
trips = get("/trips")
print(json.dumps([
    {t["from"] for t in get("/trips", {"from": "S03"})} == {"S03"},
    {t["rider"] for t in get("/trips", {"rider": "guest", "to": "S03"})} == {"guest"},
    get("/trips", {"since": "2025-05-10", "until": "2025-05-11"}) == [t for t in trips if "05-10" in t["start"]],
    get("/trips", {"limit": 2}) == trips[:2],
    all(s["bikes"] >= 5 for s in get("/stations", {"minBikes": 5})),
    all(s["bikes"] == len(get(f"/stations/{s['id']}/bikes")) for s in get("/stations")),
]))
"""
    assert bench.python(NAME, code) == [True] * 6


@pytest.mark.parametrize(("call", "reason"), REFUSALS, ids=[call for call, _ in REFUSALS])
def test_a_wrong_call_is_refused_with_what_would_be_right(bench: Bench, call: str, reason: str) -> None:
    done = bench.run(NAME, "-", stdin=f"from bikes.client import get\n{call}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"bikes.client.ServiceError: {reason}")


def test_the_samples_of_its_documentation_run_as_they_stand(toolbox: Toolbox) -> None:
    summaries = outcome(toolbox.search(SearchSpec(skill_name=NAME, code=code_of(0)), CONTEXT))
    assert summaries["/zones"] == "All zones of the city" and len(summaries) == len(SPEC["paths"])
    parameters = outcome(toolbox.search(SearchSpec(skill_name=NAME, code=code_of(1)), CONTEXT))
    assert ["limit", "At most so many, the first ones"] in parameters
    busiest = outcome(toolbox.execute_code(ExecuteCode(skill_name=NAME, code=code_of(2)), CONTEXT))
    assert len(busiest) == 3 and [count for _, count in busiest] == sorted((c for _, c in busiest), reverse=True)


def test_reading_it_tells_of_the_two_tools(toolbox: Toolbox) -> None:
    read = toolbox.get_skill(GetSkill(skill_name=NAME), CONTEXT)
    assert isinstance(read, Document)
    assert [tool.tool for tool in read.scripts] == ["search", "execute"]
    shown = shown_to_model(read)
    assert "spec is {openapi, info: {title, version, description}, paths: {'/zones': {...}" in shown
    assert "ctx has service, today, currency; may import bikes.client too" in shown


def test_a_refusal_of_the_service_is_what_the_model_reads(toolbox: Toolbox) -> None:
    code = "from bikes.client import get\nget('/bikes', {'model': 'tandem'})"
    run = toolbox.execute_code(ExecuteCode(skill_name=NAME, code=code), CONTEXT)
    assert isinstance(run, ScriptExecution)
    assert run.stderr.endswith("ServiceError: 400: model is 'tandem'; it is one of city, cargo, electric\n")
    assert "client.py" not in run.stderr


def test_it_is_small_enough_to_be_copied_from() -> None:
    files = [path for path in Path(SKILLS / NAME).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) < 100_000
