"""A script that is too big for a message."""

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
