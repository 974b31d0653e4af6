"""What a script writes is heard while it runs, and hearing it costs the run nothing."""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from tests.workers.skill_folders import write_skill

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.progress import MOST_WAITING, OutputTeller
from skillfleet_workers.runtimes.base import RunRequest
from skillfleet_workers.runtimes.capture import NEWS_BYTES, Attendant, Capture, Stream
from skillfleet_workers.runtimes.process import ProcessRuntime
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.tools import CallContext, Toolbox
from skillfleet_workers.wire.calls import CallLedger
from skillfleet_workers.wire.contract import CallRef, ExecuteCode, RunPythonScript
from skillfleet_workers.wire.execution import Output, ScriptExecution

REF = CallRef(conversation_id="c1", turn=1, index=0)


@pytest.fixture
def written() -> Iterator[tuple[Stream, Callable[[bytes], None]]]:
    """A stream, and what writes to it and has it read."""
    near, far = os.pipe()
    stream = Stream(near)

    def write(text: bytes) -> None:
        os.write(far, text)
        stream.read(memoryview(bytearray(65_536)))

    yield stream, write
    os.close(near)
    os.close(far)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[ProcessRuntime]:
    with closing(ProcessRuntime(tmp_path)) as made:
        yield made


def asked(folder: Path, script: str) -> RunRequest:
    return RunRequest("s", folder, Path(sys.executable), script, {"PATH": "/usr/bin:/bin"}, 10)


def test_news_come_once_and_whole_characters_at_a_time(written: tuple[Stream, Callable[[bytes], None]]) -> None:
    stream, write = written
    assert stream.news() == ("", 0)
    snowman = "☃".encode()
    write(b"a" + snowman[:1])
    assert stream.news() == ("a", 0)
    write(snowman[1:] + b"\n")
    assert stream.news() == ("☃\n", 0)
    assert stream.news() == ("", 0)
    write(b"\xff\xfe\0")
    assert stream.news() == ("\ufffd\ufffd\0", 0)


def test_of_much_news_the_end_is_told_and_how_much_was_skipped(
    written: tuple[Stream, Callable[[bytes], None]],
) -> None:
    stream, write = written
    text = "☃".encode() * NEWS_BYTES
    write(text)
    told, skipped = stream.news()
    assert set(told) == {"☃"}
    assert NEWS_BYTES - 3 < len(told.encode()) <= NEWS_BYTES
    assert skipped + len(told.encode()) == len(text)
    write(b"more")
    assert stream.news() == ("more", 0)


def attended(began: float, hears_all: int) -> list[Output]:
    """What is heard of a run that writes to both streams at once and ends when `hears_all` were heard."""
    (out, far_out), (err, far_err) = os.pipe(), os.pipe()
    control, far = socket.socketpair()
    heard: list[Output] = []

    def end() -> None:
        far.sendall(b"ended 0 1 1 0\ndone 0\n")

    def hear(output: Output) -> None:
        heard.append(output)
        if len(heard) == 1:
            os.write(far_out, b"more")
        if len(heard) == hears_all:
            end()

    os.write(far_out, b"out")
    os.write(far_err, b"err")
    if not hears_all:
        end()
    Attendant(control, Capture(Stream(out), Stream(err), began), hear=hear).attend(60, threading.Event())
    for descriptor in (out, far_out, err, far_err):
        os.close(descriptor)
    control.close()
    far.close()
    return heard


def test_the_two_streams_are_told_by_turns() -> None:
    assert attended(time.monotonic() - 1, hears_all=3) == [
        Output("stdout", "out"),
        Output("stderr", "err"),
        Output("stdout", "more"),
    ]


def test_nothing_is_told_of_a_run_that_has_only_just_begun() -> None:
    assert attended(time.monotonic() + 600, hears_all=0) == []


def test_a_script_is_heard_while_it_runs(runtime: ProcessRuntime, tmp_path: Path) -> None:
    request, heard = asked(tmp_path, "import time\nprint('half way', flush=True)\ntime.sleep(600)"), list[Output]()

    def hear(output: Output) -> None:
        heard.append(output)
        request.cancelled.set()

    done = runtime.run(replace(request, hear=hear))
    assert (done.status, done.stdout) == ("cancelled", "half way\n")
    assert heard == [Output("stdout", "half way\n")]


def test_a_script_is_heard_and_code_mode_is_not_whose_output_is_an_answer(
    runtime: ProcessRuntime, tmp_path: Path
) -> None:
    heard = list[Output]()
    context = CallContext(REF, None, threading.Event(), hear=heard.append)
    described = "---\ndescription: S.\nmetadata: {skillfleet: {spec: s.json}}\n---\n"
    write_skill(tmp_path / "skills" / "api", {"SKILL.md": described, "s.json": "{}"})
    catalog, environments = SkillCatalog(tmp_path / "skills"), Environments(tmp_path / "environments")
    toolbox = Toolbox(catalog, environments, runtime, 41, tmp_path / "artifacts")
    endless = "while True:\n    print('on and on', flush=True)"
    run = toolbox.run_python(RunPythonScript(skill_name="api", script=endless, timeout=3), context)
    assert isinstance(run, ScriptExecution) and run.status == "timed_out"
    assert "on and on" in heard[0].text
    heard.clear()
    run = toolbox.execute_code(ExecuteCode(skill_name="api", code=endless, timeout=1), context)
    assert isinstance(run, ScriptExecution) and run.status == "timed_out"
    assert heard == []


def test_a_redis_that_does_not_answer_holds_up_no_run(runtime: ProcessRuntime, tmp_path: Path) -> None:
    chatter = "import time\nfor n in range(10): print(n, flush=True); time.sleep(0.1)"
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        client = redis.Redis(port=deaf.getsockname()[1], socket_timeout=60)
        with closing(OutputTeller(CallLedger(client), REF)) as hear:
            done = runtime.run(replace(asked(tmp_path, chatter), hear=hear))
            for n in range(10 * MOST_WAITING):
                hear(Output("stdout", str(n)))
            assert hear.waiting <= MOST_WAITING
    assert (done.status, done.stdout.split()) == ("succeeded", [str(n) for n in range(10)])
