"""A script that is too big for a message, and output that is too big for a model."""

from tests.system.conftest import Shared
from tests.system.replies import python

from skillfleet_workers.wire.blobs import INLINE_BYTES


def test_a_big_script_runs_like_any_other(shared: Shared) -> None:
    script = f"text = {'x' * 3 * INLINE_BYTES!r}\nprint(len(text))"
    with shared.place.fleet() as fleet:
        report = fleet.result(
            fleet.submit("How long?", model=shared.place.script([python(script, "long")], "${long.stdout}"))
        )
        kept = fleet.transcript(report.id)
    assert (report.status, report.answer) == ("completed", f"{3 * INLINE_BYTES}")
    assert len(kept.model_dump_json(exclude={"spec", "messages"})) < 2000


def test_output_that_a_model_was_not_shown_is_read_from_the_result_backend(shared: Shared) -> None:
    script = "print('.' * 40_000 + 'the middle' + '.' * 40_000)"
    reading = {"tool": "read_output", "arguments": {"call": "1.0", "offset": 30_000}, "as": "more"}
    played = shared.place.script([python(script, "long")], [reading], "${more}")
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("What is in the middle?", model=played))
        kept = fleet.transcript(report.id)
    assert report.status == "completed", report.error
    assert "the middle" in (report.answer or "")
    shown = next(message.content or "" for message in kept.messages if message.role == "tool")
    assert "read_output with call='1.0'" in shown and "the middle" not in shown
