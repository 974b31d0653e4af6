"""Bash, node, perl and ruby in the sandbox: programs of their own, held as Python is."""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.harness import eventually
from tests.conformance.living import MARK, marked
from tests.conftest import Require
from tests.workers.strongest import strongest

from skillfleet_workers import BashRuntime
from skillfleet_workers.runtimes.base import Language, RunRequest, Runtime
from skillfleet_workers.script_calls import CLEAN_PATH
from skillfleet_workers.skills.languages import INTERPRETERS
from skillfleet_workers.wire.execution import ScriptExecution

OTHERS: tuple[Language, ...] = ("shell", "javascript", "perl", "ruby")

ECHO = {
    "shell": 'echo "$(cat)|$1|$2|$PWD"; echo words >&2',
    "javascript": "console.log([require('fs').readFileSync(0, 'utf8'), ...process.argv.slice(2), process.cwd()]"
    ".join('|')); console.error('words')",
    "perl": 'use Cwd; print join(\'|\', <STDIN>, @ARGV, getcwd()), "\\n"; print STDERR "words\\n";',
    "ruby": "puts [STDIN.read, *ARGV, Dir.pwd].join('|'); warn 'words'",
}
EXIT = {
    "shell": "exit 139",
    "javascript": "process.exit(139)",
    "perl": "exit 139",
    "ruby": "exit 139",
}
CRASH = {
    "shell": ("SEGV", "kill -SEGV $$"),
    "javascript": ("SEGV", "process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 60000)"),
    "perl": ("SEGV", "kill 'SEGV', $$; sleep 60"),
    "ruby": ("KILL", "Process.kill('KILL', $$); sleep 60"),  # it makes an abort of every SEGV
}
WRITES = {
    "shell": """
echo x > $TMPDIR/scrap && cp $TMPDIR/scrap $HOME/more && cp $HOME/more $SKILLFLEET_OUTPUT_DIR/out.txt
{ echo x > mine; } 2> /dev/null && echo written || echo refused
""",
    "javascript": """
const fs = require('fs'), e = process.env
fs.writeFileSync(e.TMPDIR + '/scrap', 'x\\n')
fs.copyFileSync(e.TMPDIR + '/scrap', e.HOME + '/more')
fs.copyFileSync(e.HOME + '/more', e.SKILLFLEET_OUTPUT_DIR + '/out.txt')
try { fs.writeFileSync('mine', 'x'); console.log('written') } catch (_) { console.log('refused') }
""",
    "perl": """
use File::Copy;
open(F, ">", "$ENV{TMPDIR}/scrap") or die; print F "x\\n"; close F;
copy("$ENV{TMPDIR}/scrap", "$ENV{HOME}/more") or die;
copy("$ENV{HOME}/more", "$ENV{SKILLFLEET_OUTPUT_DIR}/out.txt") or die;
print open(F, ">", "mine") ? "written\\n" : "refused\\n";
""",
    "ruby": """
require 'fileutils'
File.write(ENV['TMPDIR'] + '/scrap', "x\\n")
FileUtils.cp(ENV['TMPDIR'] + '/scrap', ENV['HOME'] + '/more')
FileUtils.cp(ENV['HOME'] + '/more', ENV['SKILLFLEET_OUTPUT_DIR'] + '/out.txt')
begin; File.write('mine', 'x'); puts 'written'; rescue SystemCallError; puts 'refused'; end
""",
}
DAEMON = 'setsid sh -c "sleep 600 & sleep 600" & echo up; sleep 600'


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    with strongest(tmp_path_factory.mktemp("scratch")) as made:
        yield made


@pytest.fixture(params=OTHERS)
def language(request: pytest.FixtureRequest, require: Require) -> Language:
    chosen: Language = request.param
    name = INTERPRETERS[chosen]
    require(shutil.which(name, path=CLEAN_PATH) is not None, f"{name} is not installed")
    return chosen


def request_for(folder: Path, language: Language, content: str, **more: Any) -> RunRequest:
    skill = folder / "skill"
    (skill / "scripts").mkdir(parents=True, exist_ok=True)
    (skill / "scripts" / "run").write_text(content)
    interpreter = Path(shutil.which(INTERPRETERS[language], path=CLEAN_PATH) or "")
    environment = {"PATH": CLEAN_PATH, "LANG": "C.UTF-8"}
    plain = RunRequest("demo", skill, interpreter, Path("scripts/run"), environment, 30.0, language=language)
    return replace(plain, **more)


def test_it_gets_its_arguments_and_its_input_and_runs_in_the_skills_root(
    runtime: Runtime, language: Language, tmp_path: Path
) -> None:
    asked = request_for(
        tmp_path, language, ECHO[language], arguments=("-x", "zwei Wörter; $(id)"), stdin="ä".encode()
    )
    run = runtime.run(asked)
    assert run.stdout == f"ä|-x|zwei Wörter; $(id)|{asked.skill_root}\n", run.stderr
    assert (run.stderr, run.returncode, run.success) == ("words\n", 0, True)
    assert Path(run.interpreter).name.startswith(INTERPRETERS[language])


def test_source_runs_as_a_file_does(runtime: Runtime, language: Language, tmp_path: Path) -> None:
    run = runtime.run(request_for(tmp_path, language, "", script=ECHO[language], stdin=b"in", arguments=("a",)))
    assert run.stdout.startswith("in|a|") and run.stdout.endswith("/skill\n"), run.stderr


def test_a_crash_and_the_exit_code_that_a_shell_makes_of_it_are_told_apart(
    runtime: Runtime, language: Language, tmp_path: Path
) -> None:
    ended = runtime.run(request_for(tmp_path, language, EXIT[language]))
    assert (ended.status, ended.returncode, ended.signal) == ("failed", 139, None)
    name, crash = CRASH[language]
    crashed = runtime.run(request_for(tmp_path, language, crash))
    number = signal.Signals[f"SIG{name}"]
    assert (crashed.status, crashed.returncode, crashed.signal) == ("killed", -number, number.name)


def test_it_writes_into_its_work_folder_and_not_into_the_skill(
    runtime: Runtime, language: Language, tmp_path: Path, require: Require
) -> None:
    run = runtime.run(request_for(tmp_path, language, WRITES[language], keep=tmp_path / "kept"))
    require(run.isolation == "sandbox", "nothing holds a script here")
    assert run.stdout == "refused\n", run.stderr
    (artifact,) = run.artifacts
    assert Path(artifact.location).read_text() == "x\n"
    assert not (tmp_path / "skill" / "mine").exists()


def test_a_deadline_ends_its_daemons_too(runtime: Runtime, tmp_path: Path) -> None:
    environment = {"PATH": CLEAN_PATH, MARK: tmp_path.name}
    asked = request_for(tmp_path, "shell", DAEMON, environment=environment, timeout_s=600)
    with ThreadPoolExecutor(1) as pool:
        flight = pool.submit(runtime.run, replace(asked, cancelled=(ended := threading.Event())))
        try:
            assert eventually(lambda: len(marked(tmp_path.name)) >= 4), marked(tmp_path.name)
        finally:
            ended.set()
        assert flight.result().status == "cancelled"
    assert marked(tmp_path.name) == []
    late = runtime.run(replace(asked, timeout_s=1.5))
    assert (late.status, late.stdout) == ("timed_out", "up\n")
    assert marked(tmp_path.name) == []


def test_a_program_that_is_not_there_is_no_success(runtime: Runtime, tmp_path: Path) -> None:
    run = runtime.run(request_for(tmp_path, "shell", "exit 0", interpreter=Path("/usr/bin/no-such-shell")))
    assert run.status == "failed" and run.error and "no-such-shell" in run.error


@pytest.fixture(scope="module")
def bash(runtime: Runtime) -> Iterator[BashRuntime]:
    with BashRuntime(runtime=runtime, env={"GREETING": "hello"}, timeout_s=20) as made:
        yield made


def outcome(run: ScriptExecution) -> tuple[int | None, str, str]:
    return run.returncode, run.stdout, run.stderr


def test_a_command_runs_with_the_variables_that_are_given_and_none_of_the_workers(
    bash: BashRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    run = bash.run('echo "$GREETING $NAME${A_SECRET-}" | tr a-z A-Z; exit 3', env={"NAME": "you"})
    assert outcome(run) == (3, "HELLO YOU\n", "")
    assert run.timeout == 20
    assert outcome(bash.execute("echo $NAME; cat", stdin=b"fed")) == (0, "\nfed", "")


def test_a_command_of_many_lines_is_a_script_and_its_timeout_holds(bash: BashRuntime) -> None:
    assert bash.run("set -e\nfor n in 1 2; do\n  echo $n\ndone\nfalse\necho never").stdout == "1\n2\n"
    late = bash.run("echo before; sleep 600", timeout_s=1.5)
    assert (late.status, late.stdout) == ("timed_out", "before\n")


def test_commands_run_in_the_folder_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "here.txt").touch()
    with BashRuntime(tmp_path) as plain:
        assert outcome(plain.run("ls; pwd")) == (0, f"here.txt\n{os.path.realpath(tmp_path)}\n", "")


def test_what_it_answers_can_be_stored(bash: BashRuntime) -> None:
    run = bash.run("printf '\\xff'")
    assert json.loads(run.model_dump_json())["stdout"] == "\ufffd"
