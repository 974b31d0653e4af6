import os
from collections.abc import Iterator

import pytest

from skillfleet_workers.runtimes.capture import Capture, Stream, with_line
from skillfleet_workers.runtimes.outcome import outcome


@pytest.fixture
def capture() -> Iterator[Capture]:
    (out, far_out), (err, far_err) = os.pipe(), os.pipe()
    yield Capture(Stream(out), Stream(err))
    for descriptor in (out, far_out, err, far_err):
        os.close(descriptor)


def test_what_follows_done_is_not_about_this_run(capture: Capture) -> None:
    for line in ("started 7", "ended 9 1000 2000 1", "done 3", "started", "ended 32512 1 1 0", "done 0", "lost"):
        capture.hear(line)
    capture.verdict = "timed_out"
    told = outcome(capture, 1.5)
    assert (told["status"], told["returncode"], told["stderr"]) == ("timed_out", 124, "Timeout: killed after 1.5 s\n")
    assert (told["cpu_ms"], told["max_rss_kb"], told["leftover_killed"]) == (1.0, 2000, 3)


def test_a_script_that_ended_by_itself_just_before_the_kill_keeps_its_own_outcome(capture: Capture) -> None:
    for line in ("started 7", "ended 768 1 1 0", "done 0"):
        capture.hear(line)
    capture.verdict = "timed_out"
    assert not capture.clean
    assert (outcome(capture, 1)["status"], outcome(capture, 1)["returncode"]) == ("failed", 3)


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ("24 960000 1 0", "killed for processor time: a process of the run used up its 1 s"),
        ("9 1990000 1 0", "killed for processor time: a process of the run used up its 1 s"),
        ("9 500000 1 0", None),
        ("11 2000000 1 0", None),
        ("0 2000000 1 0", None),
        ("9 2000000 1 1", None),
    ],
    ids=["spent", "ignored", "killed before", "another signal", "ended well", "by its deadline"],
)
def test_a_script_that_spent_its_processor_time_is_told_so(capture: Capture, ended: str, told: str | None) -> None:
    for line in ("started 7", f"ended {ended}", "done 0"):
        capture.hear(line)
    assert outcome(capture, 1.5, cpu_seconds=1).get("error") == told


@pytest.mark.parametrize(("text", "whole"), [("", "x\n"), ("a", "a\nx\n"), ("a\n", "a\nx\n")])
def test_a_line_is_added_on_a_line_of_its_own(text: str, whole: str) -> None:
    assert with_line(text, "x") == whole
