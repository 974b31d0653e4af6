"""How a build's progress is shown, to a person and to a log."""

import pytest

from skillfleet.cli.display import Watch
from skillfleet.events import Entry, EntryType


def entry(kind: EntryType, **data: object) -> Entry:
    return Entry(1, 0.0, kind, data)


CALL = entry("call", key="1.0", name="run_python_script", attempt=1, arguments="")
STARTED = entry("started", key="1.0", attempt=1, worker="w1")
PROGRESS = [entry("progress", key="1.0", text=text) for text in ("Building [bold] \x1b[31m", "Installed 6 packages")]


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    with Watch() as watch:
        for one in (CALL, STARTED, *PROGRESS):
            watch.see(one)
    return capsys.readouterr().err


def test_a_log_gets_every_line_of_a_build(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip() for line in shown(capsys).splitlines()]
    assert lines[1:] == ["· Building [bold] ␛[31m", "· Installed 6 packages"]


def test_a_terminal_shows_the_last_line_beside_the_spinner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    seen = shown(capsys)
    assert "run_python_script: Installed 6 packages" in seen
    assert "·" not in seen
