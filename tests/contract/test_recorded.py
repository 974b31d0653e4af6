"""What an earlier release wrote, today's reads: recorded payloads, `full` with every field and `least` with only
what is required. They are never changed; a release that adds a field adds a folder."""

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from tests.contract.models import MODELS

from skillfleet_workers.wire.calls import CallRecord, CallResult, parse_records
from skillfleet_workers.wire.contract import TASKS, Governing
from skillfleet_workers.wire.execution import ScriptExecution

RECORDED = Path(__file__).parent / "recorded"
PAYLOADS = sorted(RECORDED.glob("v*/*.*.json"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def missing(recorded: Any, today: Any, place: str = "") -> list[str]:
    """Where `today` lacks what was recorded, or says something else."""
    if isinstance(recorded, dict) and isinstance(today, dict):
        gone = [f"{place}.{name}" for name in recorded if name not in today]
        both = [name for name in recorded if name in today]
        return gone + [found for name in both for found in missing(recorded[name], today[name], f"{place}.{name}")]
    if isinstance(recorded, list) and isinstance(today, list) and len(recorded) == len(today):
        pairs = enumerate(zip(recorded, today, strict=True))
        return [found for index, (old, new) in pairs for found in missing(old, new, f"{place}[{index}]")]
    return [] if recorded == today else [f"{place}: {recorded!r} became {today!r}"]


@pytest.mark.parametrize("path", PAYLOADS, ids=name_of)
def test_a_recorded_payload_is_read_and_written_with_nothing_lost(path: Path) -> None:
    model = MODELS[path.name.split(".")[0]]
    once = model.model_validate(read(path))
    assert missing(read(path), once.model_dump(mode="json")) == []
    assert model.model_validate_json(once.model_dump_json()) == once


@pytest.mark.parametrize("path", PAYLOADS, ids=name_of)
def test_what_a_later_release_adds_is_ignored(path: Path) -> None:
    model = MODELS[path.name.split(".")[0]]
    known = read(path)
    assert model.model_validate({**known, "added_later": {"deep": [1]}}) == model.model_validate(known)


@pytest.mark.parametrize("name", MODELS)
def test_every_field_of_today_is_recorded(name: str) -> None:
    model = MODELS[name]
    newest = [path for path in PAYLOADS if path.name == f"{name}.full.json"][-1]
    assert set(read(newest)) == {*model.model_fields, *model.model_computed_fields}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_required_of_a_message_does_not_grow(name: str) -> None:
    model = MODELS[name]
    required = {field for field, about in model.model_fields.items() if about.is_required()}
    oldest = next(path for path in PAYLOADS if path.name.startswith(f"{name}."))
    least = oldest.with_name(f"{name}.least.json")
    assert required <= set(read(least if least.exists() else oldest))


@pytest.mark.parametrize("path", sorted(RECORDED.glob("v*/tasks.json")), ids=name_of)
def test_a_task_keeps_its_name_its_tool_and_its_models(path: Path) -> None:
    today = {
        spec.name: {
            "name": spec.name,
            "tool": spec.tool,
            "request": spec.request.__name__,
            "result": spec.result.__name__,
            "effects": spec.effects,
        }
        for spec in TASKS
    }
    assert [today.get(task["name"]) for task in read(path)] == read(path)


def test_every_task_of_today_is_recorded() -> None:
    recorded = {task["name"] for path in RECORDED.glob("v*/tasks.json") for task in read(path)}
    assert {spec.name for spec in TASKS} == recorded


def test_every_field_that_the_ledger_keeps_of_a_call_is_read() -> None:
    (record,) = parse_records(read(RECORDED / "v0.7" / "call-fields.json")).values()
    assert record == CallRecord(
        attempt=3,
        beat_at=1795338800.809,
        worker="host-1",
        result=CallResult(status="succeeded", shown="# Forms", governing=Governing(skill="pdf-forms", fork=True)),
        effects="idempotent",
        failed=2,
        failures=1,
        returned=1,
        lost=1,
        said="its sandbox was killed",
        sent_at=1795338799.5,
        begun="0199f000000011223344-2-0",
        child=CallResult(status="succeeded", shown="Filled é漢🦊."),
        route="gpu",
        decision='{"verdict":"approved","text":"Go on é."}',
        posted='{"to":1,"refused":null}',
    )
    assert [one.name for one in fields(record) if one.default in (MISSING, getattr(record, one.name))] == [
        "attempt", "beat_at", "worker", "result",
    ]  # fmt: skip


def test_a_least_execution_has_the_defaults_that_readers_count_on() -> None:
    run = ScriptExecution.model_validate({"status": "failed"})
    assert (run.returncode, run.timed_out, run.success, run.signaled, run.isolation) == (
        None,
        False,
        False,
        False,
        "none",
    )


def test_success_is_the_status_and_nothing_that_was_written_beside_it() -> None:
    assert not ScriptExecution.model_validate({"status": "oom_killed", "returncode": 0, "success": True}).success
