"""How a build's progress and a script's output are shown, to a person and to a log."""

import json

import pytest

from skillfleet.cli.display import Watch
from skillfleet.events import Entry, EntryType
from skillfleet_workers.wire.uuids import uuid_of


def entry(kind: EntryType, **data: object) -> Entry:
    return Entry(1, 0.0, kind, data)


CALL = entry("call", key="1.0", name="run_python_script", attempt=1, arguments="")
STARTED = entry("started", key="1.0", attempt=1, worker="w1")
PROGRESS = [entry("progress", key="1.0", text=text) for text in ("Building [bold] \x1b[31m", "Installed 6 packages")]


def shown(capsys: pytest.CaptureFixture[str], *entries: Entry) -> str:
    with Watch() as watch:
        for one in (CALL, STARTED, *entries):
            watch.see(one)
    return capsys.readouterr().err


def wrote(at: float, text: str) -> Entry:
    return Entry(2, at, "output", {"key": "1.0", "stream": "stdout", "text": text, "skipped": 0}, live=True)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


def test_a_log_gets_every_line_of_a_build(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip() for line in shown(capsys, *PROGRESS).splitlines()]
    assert lines[1:] == ["· Building [bold] ␛[31m", "· Installed 6 packages"]


@pytest.mark.usefixtures("terminal")
def test_a_terminal_shows_the_last_line_beside_the_spinner(capsys: pytest.CaptureFixture[str]) -> None:
    seen = shown(capsys, *PROGRESS)
    assert "run_python_script: Installed 6 packages" in seen
    assert "·" not in seen


@pytest.mark.parametrize("terminal_too", [False, True])
def test_a_run_that_failed_stays_to_be_read_with_its_call(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest, terminal_too: bool
) -> None:
    if terminal_too:
        request.getfixturevalue("terminal")
    seen = shown(capsys, entry("failed", key="1.0", text="failed, and is run again: [red]no\x1b[31m"))
    assert "· 1.0 run_python_script: failed, and is run again: [red]no␛[31m" in seen


def test_what_will_never_run_is_told_by_its_name_in_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = entry("result", key="1.1", name="run_skill_script", status="skipped", tail="", of_plan="card")
    assert shown(capsys, skipped).splitlines()[-1].strip() == "✗ 1.1 card skipped"


def test_a_log_gets_the_last_line_of_an_output_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    quick = [wrote(n / 5, f"line {n}\n") for n in range(1, 6 * 5)]
    slow = [wrote(10.0, "a\nb [bold] \x1b[31m\n"), wrote(10.2, "c\n"), wrote(20.1, "\n"), wrote(20.2, "d")]
    lines = [line.strip() for line in shown(capsys, *quick, *slow).splitlines()]
    assert lines[1:] == ["· 1.0: b [bold] ␛[31m", "· 1.0: c"]


def test_a_log_gets_no_output_of_a_quick_script_but_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    result = entry("result", key="1.0", status="succeeded", tail="line 1\n", worker="w1", runtime="warm", ms=250.0)
    lines = [line.strip() for line in shown(capsys, wrote(0.2, "line 1\n"), result).splitlines()]
    assert lines[1:] == ["✓ 1.0 run_python_script 250 ms on w1, warm", "│ line 1"]


@pytest.mark.usefixtures("terminal")
def test_a_terminal_shows_the_end_of_an_output_below_the_spinner_until_the_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Watch() as watch:
        for one in (CALL, STARTED, *(wrote(n / 5, f"line {n}\nhal") for n in range(9))):
            watch.see(one)
        seen = watch.below()
        assert [line.split("│ ")[1].removesuffix("[/]") for line in seen.splitlines()[1:]] == [
            "halline 4", "halline 5", "halline 6", "halline 7", "halline 8", "hal",
        ]  # fmt: skip
        watch.see(entry("result", key="1.0", status="succeeded", tail="done", worker="w1", runtime="", ms=1.0))
        assert watch.below() == ""
    assert "│ done" in capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_what_a_script_writes_is_neither_obeyed_nor_broken_over_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch() as watch:
        watch.see(CALL)
        watch.see(wrote(1.0, "\x1b[2J[bold]" + "x" * 1000))
        seen = watch.below()
    assert "\x1b" not in seen and "\\[bold]" in seen
    assert len(seen) < 200


def test_a_child_conversation_is_shown_with_the_id_to_follow_it_by(capsys: pytest.CaptureFixture[str]) -> None:
    told = [entry("child", key="1.0", child="c1-1-0", status=status) for status in ("queued", "completed")]
    lines = [line.strip() for line in shown(capsys, *told).splitlines()]
    assert lines[1:] == ["· 1.0: conversation c1-1-0 is queued", "· 1.0: conversation c1-1-0 is completed"]


def test_subagents_are_shown_by_the_names_that_their_model_gave_them(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ({"prompt": "Look.", "name": "[bold]"}, {"skill": "detect"}, {"skill": "detect"}, {"prompt": "Wait."})
    calls = [{"function": {"name": "spawn_subagent", "arguments": json.dumps(one)}} for one in asked]
    begun = [entry("child", key=f"1.{n}", child=f"c1-1-{n}", status="queued") for n in range(len(asked))]
    answer = entry("call", key="2.0", name="send_message", attempt=1, arguments="recipient_id=c1-1-0")
    tail = "event of c1-1-0-2-1: {}\nevent of c1-1-1: {}"
    told = entry("result", key="2.0", name="receive_messages", status="succeeded", tail=tail)
    spoken = entry("message", role="assistant", tool_calls=calls)
    lines = [line.strip() for line in shown(capsys, TURN, spoken, *begun, answer, told).splitlines()]
    names = ("[bold]", "detect", "detect (1.2)", "conversation")
    assert lines[1:5] == [f"· 1.{n}: {name} c1-1-{n} is queued" for n, name in enumerate(names)]
    assert lines[5] == "→ 2.0 send_message(recipient_id=[bold])"
    assert lines[7:] == ["│ event of c1-1-0-2-1: {}", "│ event of detect: {}"]


def said(at: int, text: str, attempt: int = 1) -> Entry:
    told = {"turn": 1, "attempt": attempt, "at": at, "text": text, "skipped": 0}
    return Entry(1, 0.0, "token", told, live=True)


WRITES = entry("arguments", turn=1, attempt=1, index=0, name="add[/]", at=0, text='{"a": "\x1b[2J', skipped=0)
TURN = entry("turn", turn=1)
ANSWER = entry("message", role="assistant", content="It is 42")


@pytest.mark.usefixtures("terminal")
def test_a_terminal_shows_a_reply_as_it_builds_up_until_its_message_comes() -> None:
    with Watch() as watch:
        for one in (TURN, said(0, "It [bold] "), said(10, "is")):
            watch.see(one)
        assert watch.below() == "\n  It \\[bold] is"
        watch.see(WRITES)
        assert watch.below().splitlines()[2] == '  [cyan]→ add\\[/][/]({"a": "␛[2J'
        watch.see(ANSWER)
        assert watch.below() == ""


@pytest.mark.usefixtures("terminal")
def test_a_terminal_wipes_what_is_taken_back_and_says_why() -> None:
    with Watch() as watch:
        for one in (TURN, said(0, "It is 4"), entry("again", turn=1, attempt=2)):
            watch.see(one)
        assert watch.below() == ""
        watch.see(said(0, "It", 2))
        assert watch.below() == "\n  It"


@pytest.mark.usefixtures("terminal")
def test_of_a_long_reply_a_terminal_shows_the_last_lines_that_it_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINES", "10")
    with Watch() as watch:
        watch.see(TURN)
        watch.see(said(0, "\n".join(str(n) for n in range(100))))
        assert watch.below().split() == ["96", "97", "98", "99"]


def test_a_log_gets_no_tokens_but_the_messages(capsys: pytest.CaptureFixture[str]) -> None:
    calls = entry("message", role="assistant", content="I add.", tool_calls=[{}])
    lines = shown(capsys, TURN, said(0, "I a"), WRITES, entry("again", turn=1, attempt=2), calls).splitlines()
    assert [line.strip() for line in lines[1:]] == ["I add."]


def test_a_message_is_one_line_and_nothing_in_it_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    about = {"message_id": uuid_of("m"), "sender_id": "c1", "recipient_id": "c1-1-0", "message_type": "event"}
    sent = entry("sent", **about, payload={"text": "[bold] \x1b[31m\n" + "x" * 1000}, timestamp=3.0)
    handed = entry("handed", key="1.0", message_ids=[uuid_of("m")])
    lines = [line.strip() for line in shown(capsys, sent, handed).splitlines()]
    assert 'c1 -> c1-1-0 event {"text": "[bold] \\u001b[31m' in lines[1] and len(lines[1]) < 300
    assert lines[2:] == ["· 1.0: given 1 message"]
