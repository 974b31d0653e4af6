"""What a script's events make of its run."""

import json
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest

from skillfleet_workers.runtimes.ndjson import MOST_EVENTS, understood
from skillfleet_workers.wire.execution import Artifact, ExecutionStatus, ScriptExecution
from skillfleet_workers.wire.patches import merged
from skillfleet_workers.wire.plain_json import MOST_DEPTH

NESTED = "[" * MOST_DEPTH + "]" * MOST_DEPTH
DONE = {"version": "0", "type": "done", "ok": True}


def event(type: str, **fields: Any) -> dict[str, Any]:
    return {"version": "0", "type": type, **fields}


def asset(path: str, asset_id: str = "a") -> dict[str, Any]:
    return event("asset", assetId=asset_id, kind="image", mediaType="image/png", path=path)


def lines(events: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in events)


def run(stdout: str, status: ExecutionStatus = "succeeded", returncode: int | None = 0) -> ScriptExecution:
    artifacts = (Artifact(path="charts/a.png", bytes=1, media_type="image/png"),)
    ended = ScriptExecution(status=status, returncode=returncode, stdout=stdout, artifacts=artifacts)
    return understood(ended, lambda path: path == "assets/logo.png")


def of(*events: dict[str, Any]) -> ScriptExecution:
    return run(lines(events))


def test_a_run_that_says_it_is_done_well_has_succeeded_and_its_events_are_kept() -> None:
    said = (
        event("log", level="info", message="at work", fields={"n": 1}),
        event("ui_event", event="progress", payload=50, unheard_of=[1]),
        event("error", errorCode="E1", errorMessage="one row was skipped"),
        event("done", ok=True, summary="all well", requestId="r", timestamp="now"),
    )
    done = of(*said)
    assert (done.status, done.error, done.events) == ("succeeded", None, said)


def test_done_that_is_not_ok_is_a_failure_with_its_summary() -> None:
    failed = of(event("done", ok=False, summary="no such page"))
    assert (failed.status, failed.error, failed.success) == ("failed", "no such page", False)
    assert of(event("done", ok=False)).error


def test_a_log_of_level_error_is_no_failure() -> None:
    assert of(event("log", level="error", message="bad"), DONE).success


def test_whatever_follows_done_is_ignored() -> None:
    after = run(lines([DONE]) + "Bye!\n" + lines([event("done", ok=False)]))
    assert (after.status, after.events) == ("succeeded", (DONE,))


def test_blank_lines_and_windows_line_ends_are_nothing() -> None:
    assert run("\n  \r\n" + json.dumps(DONE) + "\r\n\n").success


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("plain words", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"version": "0", "type": "log", "level": "info", "message": NaN}', "NaN"),
        ('{"version": "0", "type": "done", "ok": true, "x": "\\ud800"}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"type": "done", "ok": true}', "version"),
        ('{"version": "1", "type": "done", "ok": true}', "version"),
        ('{"version": "0", "type": "applause"}', "type"),
        ('{"version": "0", "type": ["done"]}', "type"),
        ('{"version": "0"}', "type"),
        ('{"version": "0", "type": "done", "ok": "yes"}', "ok is not true or false"),
        ('{"version": "0", "type": "done"}', "ok"),
        ('{"version": "0", "type": "log", "level": "loud", "message": ""}', "level"),
        ('{"version": "0", "type": "log", "level": "info"}', "message is not a text"),
        ('{"version": "0", "type": "state_patch", "patch": [1]}', "patch is not an object"),
        (f'{{"version": "0", "type": "ui_event", "event": "", "p": {NESTED}}}', "nested"),
    ],
)  # fmt: skip
def test_what_is_not_the_protocol_is_a_violation_that_names_its_line(line: str, why: str) -> None:
    broken = run(lines([event("log", level="debug", message="fine")]) + line + "\n" + lines([DONE]))
    assert broken.status == "protocol_violation" and not broken.success
    assert broken.error is not None and "line 2" in broken.error and why in broken.error
    assert [one["type"] for one in broken.events] == ["log"]


@pytest.mark.parametrize("stdout", ["", lines([event("log", level="info", message="x")])])
def test_an_end_without_done_is_a_violation(stdout: str) -> None:
    assert (run(stdout).status, "done" in str(run(stdout).error)) == ("protocol_violation", True)


@pytest.mark.parametrize(
    ("status", "returncode"),
    [("failed", 3), ("killed", -9), ("timed_out", 124), ("oom_killed", 0), ("cancelled", None)],
)
@pytest.mark.parametrize("stdout", [lines([DONE]), "no JSON"])
def test_a_run_that_failed_otherwise_stays_so_whatever_its_events_say(
    status: ExecutionStatus, returncode: int | None, stdout: str
) -> None:
    ended = run(stdout, status, returncode)
    assert (ended.status, ended.returncode) == (status, returncode)
    assert ended.events == ((DONE,) if stdout.startswith("{") else ())


def test_patches_are_merged_and_what_they_come_to_is_kept() -> None:
    patches = ({"a": {"b": 1, "c": [1, 2]}}, {"a": {"b": None, "c": [3]}, "d": {"e": None}})
    state = of(*(event("state_patch", patch=patch) for patch in patches), DONE).events[-1]
    came_to = {"a": {"b": None, "c": [3]}, "d": {"e": None}}
    assert state == event("state", state={"a": {"c": [3]}, "d": {}}, patches=[came_to])


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_patches_merge_as_rfc_7396_says(target: dict[str, Any], patch: dict[str, Any], result: Any) -> None:
    assert merged([target, patch]) == result


def test_assets_are_files_that_were_handed_back_or_lie_in_the_skill() -> None:
    good = of(
        asset("charts/a.png"), asset("/tmp/run-1/output/charts/a.png", "b"), asset("assets/logo.png", "c"), DONE
    )
    assert good.success
    assert [one["path"] for one in good.events[:3]] == ["charts/a.png", "charts/a.png", "assets/logo.png"]
    for path in ("a.png", "/tmp/output/b.png", "../charts/a.png", "/tmp/../charts/a.png"):
        missing = of(asset(path), DONE)
        assert missing.status == "protocol_violation" and path in str(missing.error)


def test_an_asset_id_is_used_once() -> None:
    twice = of(asset("charts/a.png"), asset("assets/logo.png"), DONE)
    assert twice.status == "protocol_violation" and "'a'" in str(twice.error)


def test_every_result_can_be_written_as_json() -> None:
    deep = "[" * (MOST_DEPTH - 3) + "]" * (MOST_DEPTH - 3)
    told = run(f'{{"version": "0", "type": "ui_event", "event": "x", "payload": {deep}}}\n{json.dumps(DONE)}')
    assert told.success and json.loads(told.model_dump_json())["events"] == list(told.events)


def chatty(count: int) -> str:
    return (json.dumps(event("log", level="info", message="at work")) + "\n") * count


def test_of_very_many_events_the_first_are_kept_and_the_cut_is_told() -> None:
    told = run(chatty(MOST_EVENTS + 7) + lines([DONE]))
    assert told.success and len(told.events) == MOST_EVENTS + 2
    assert told.events[-2:] == ({"version": "0", "type": "truncated", "events": 7}, DONE)
    assert run(chatty(MOST_EVENTS) + lines([DONE])).events[-2:] == (
        event("log", level="info", message="at work"),
        DONE,
    )


def test_events_that_are_not_kept_count_all_the_same() -> None:
    patch, twice = event("state_patch", patch={"late": {"n": 1}}), asset("charts/a.png")
    assert run(chatty(MOST_EVENTS) + lines([patch, DONE])).events[-1] == event("state", state={"late": {"n": 1}})
    assert run(chatty(MOST_EVENTS) + lines([event("done", ok=False, summary="bad")])).error == "bad"
    for broken in (lines([twice, twice, DONE]), "no JSON\n"):
        assert run(chatty(MOST_EVENTS) + broken).status == "protocol_violation"


def test_memory_does_not_grow_with_the_number_of_events() -> None:
    def peak(count: int) -> int:
        said = chatty(count) + lines([DONE])
        tracemalloc.start()
        try:
            run(said)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(2 * MOST_EVENTS) - peak(MOST_EVENTS) < 1 << 18


def test_patches_leave_the_events_as_they_were_sent() -> None:
    patches = [event("state_patch", patch=patch) for patch in ({"a": {"b": [1]}}, {"a": {"b": [2], "c": {"d": 1}}})]
    assert of(*patches, DONE).events[:2] == tuple(patches)
