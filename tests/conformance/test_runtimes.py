"""How runs are told: outcome, output, and what the script is given."""

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.harness import Bench
from tests.conformance.living import MARK
from tests.conformance.table import applies

from skillfleet_workers.wire.execution import OUTPUT_LIMIT_BYTES, TRUNCATION_MARKER

LIMIT = OUTPUT_LIMIT_BYTES


@applies("outcome")
class TestOutcome:
    def test_a_script_that_ends_well_has_succeeded(self, bench: Bench) -> None:
        done = bench.run("print(2+2)")
        assert (done.status, done.returncode, done.stdout, done.stderr) == ("succeeded", 0, "4\n", "")
        assert (done.script, done.script_path, done.skill_name) == ("print(2+2)", "", "demo")
        assert (done.runtime, done.interpreter, done.timeout) == (bench.runtime.name, sys.executable, 30.0)
        assert done.working_directory == str(bench.folder / "skill")
        assert 0 < done.startup_ms < done.execution_time_ms
        assert done.cpu_ms > 0 and done.max_rss_kb > 0 and done.leftover_killed == 0

    @pytest.mark.parametrize("code", [1, 3, 124, 127, 139, 255])
    def test_an_exit_code_is_a_failure_and_nothing_else(self, bench: Bench, code: int) -> None:
        done = bench.run(f"import sys; print('Timeout', file=sys.stderr); sys.exit({code})")
        assert (done.status, done.returncode, done.stderr) == ("failed", code, "Timeout\n")
        assert not done.timed_out and not done.signaled

    @pytest.mark.parametrize("name", ["SIGSEGV", "SIGTERM", "SIGKILL", "SIGABRT", "SIGINT", "SIGPIPE"])
    def test_a_signal_is_told_from_an_exit_code(self, bench: Bench, name: str) -> None:
        reset = "signal.signal(getattr(signal, name), signal.SIG_DFL) if name in ('SIGINT', 'SIGPIPE') else 0"
        done = bench.run(f"import os, signal; name = '{name}'; {reset}; os.kill(os.getpid(), getattr(signal, name))")
        assert (done.status, done.signal, done.stderr) == ("killed", name, f"Signal: {name}\n")
        assert done.returncode == -(done.signal_number or 0) < 0

    def test_a_real_time_signal_has_a_name(self, bench: Bench) -> None:
        done = bench.run("import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 3)")
        assert (done.status, done.signal) == ("killed", "SIGRTMIN+3")

    def test_a_deadline_that_passes_before_the_start_is_a_timeout(self, bench: Bench) -> None:
        done = bench.run("import time; time.sleep(600)", timeout_s=0.0001)
        assert (done.status, done.returncode) == ("timed_out", 124)
        # On a busy host a container may not even be up by then.
        assert done.stderr.startswith(("Timeout: killed after 0.0001 s", "Timeout: nothing ran")), done.stderr

    def test_programs_of_the_worker_are_found_in_the_folders_that_it_names(self, bench: Bench) -> None:
        tools = bench.folder / "tools"
        tools.mkdir()
        (tools / "greet").write_text("#!/bin/sh\necho hello\n")
        (tools / "greet").chmod(0o755)
        path = {"PATH": f"/usr/bin:/bin:{tools}", MARK: bench.mark}
        script = "import subprocess; print(subprocess.run(['greet'], capture_output=True, text=True).stdout)"
        done = bench.run(script, environment=path, programs=(tools,))
        assert done.stdout == "hello\n\n", done.stderr

    def test_a_missing_interpreter_is_a_value(self, bench: Bench) -> None:
        done = bench.run("print(1)", interpreter=Path("/nowhere/python"))
        assert (done.status, done.returncode) == ("failed", None)
        assert done.error == "No such file or directory: /nowhere/python"
        assert bench.run("print(1)").stdout == "1\n"

    def test_a_missing_skill_folder_is_a_value(self, bench: Bench) -> None:
        done = bench.run("print(1)", skill_root=Path("/nowhere"))
        assert (done.status, done.error) == ("failed", "No such file or directory: /nowhere")


GLIBC_OWN = 0b11 << 31
"""Signals 32 and 33 are the C library's: its posix_spawn leaves them ignored."""


@applies("request")
class TestWhatTheScriptIsGiven:
    def test_the_environment_is_that_of_the_request_and_the_work_folder(self, bench: Bench) -> None:
        given = {"A": "1", "EMPTY": "", "EQUALS": "a=b", "TEXT": "ä\n☃", MARK: bench.mark, "LC_ALL": "C.UTF-8"}
        done = bench.run("import os; print(ascii(dict(os.environ)))", environment=given)
        seen = ast.literal_eval(done.stdout)
        work = {name: seen.pop(name) for name in ("HOME", "TMPDIR", "SKILLFLEET_OUTPUT_DIR")}
        assert seen == given
        assert work["SKILLFLEET_OUTPUT_DIR"].startswith(work["HOME"]) and work["HOME"] == work["TMPDIR"]

    @pytest.mark.parametrize("own", [False, True], ids=["source", "a script of the skill"])
    def test_its_files_lie_where_their_variables_say(self, bench: Bench, own: bool) -> None:
        files = {"SKILLFLEET_CONFIG": b'{"a": "\xc3\xa4"}', "OTHER": b"\0" * 100_000 + b"end", "EMPTY": b""}
        read = f"import os; print([open(os.environ[name], 'rb').read() for name in {list(files)}])"
        request = bench.request(read, files=files)
        (request.skill_root / "own.py").write_text(read)
        done = bench.runtime.run(replace(request, script=Path("own.py")) if own else request)
        assert done.stdout == f"{list(files.values())}\n", done
        assert bench.run("import os; print('OTHER' in os.environ)").stdout == "False\n"

    def test_the_working_directory_is_the_skill_folder(self, bench: Bench) -> None:
        assert bench.run("import os; print(os.getcwd())").stdout == f"{bench.folder / 'skill'}\n"

    def test_arguments_arrive_unchanged(self, bench: Bench) -> None:
        arguments = ("", "a b", "$HOME; `ls`", "'\"\n", "x" * 100_000, "☃")
        done = bench.run("import sys; print(ascii(sys.argv[1:]))", arguments=arguments)
        assert done.stdout.strip() == ascii(list(arguments))

    @pytest.mark.parametrize("where", [{"arguments": ("a\0b",)}, {"arguments": ("\ud800",)}])
    def test_an_argument_that_no_process_can_have_is_a_value(self, bench: Bench, where: dict[str, Any]) -> None:
        done = bench.run("print(1)", **where)
        assert (done.status, done.returncode, done.stdout) == ("failed", None, "")
        assert "argument" in (done.error or "")

    def test_arguments_too_large_for_the_system_are_a_value(self, bench: Bench) -> None:
        done = bench.run("print(1)", arguments=("x" * 100_000,) * 100, fresh_interpreter=True)
        assert (done.status, done.returncode) == ("failed", None)
        assert "Argument list too long" in (done.error or "")

    def test_a_script_of_the_skill_runs_by_its_path(self, bench: Bench) -> None:
        request = bench.request(Path("scripts/hello.py"))
        (request.skill_root / "scripts").mkdir()
        (request.skill_root / "scripts" / "hello.py").write_text("print(__file__)")
        done = bench.runtime.run(request)
        assert done.stdout.strip() == done.script_path == str(request.skill_root / "scripts/hello.py")
        assert done.script == ""

    def test_stdin_without_input_is_at_its_end_at_once(self, bench: Bench) -> None:
        assert bench.run("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"

    def test_input_is_fed_whole_and_ends(self, bench: Bench) -> None:
        script = "import sys; data = sys.stdin.buffer.read(); print(len(data), data[-3:])"
        assert bench.run(script, stdin=b"x" * 3_000_000 + b"end").stdout == "3000003 b'end'\n"

    def test_a_script_has_no_descriptor_but_its_three(self, bench: Bench) -> None:
        done = bench.run("import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")
        assert done.stdout == "[0, 1, 2]\n"

    def test_a_script_starts_with_default_signals_and_no_core_file(self, bench: Bench) -> None:
        script = """
import resource
fields = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(int(fields["SigBlk"], 16), resource.getrlimit(resource.RLIMIT_CORE))
"""
        assert bench.run(script).stdout == "0 (1, 1)\n"
        # Python itself ignores two; a program that does not shows what was inherited.
        shell = bench.request(Path("ignored.sh"), interpreter=Path("/bin/sh"), language="shell")
        (shell.skill_root / "ignored.sh").write_text("grep SigIgn /proc/self/status")
        assert int(bench.runtime.run(shell).stdout.split()[1], 16) & ~GLIBC_OWN == 0

    @pytest.mark.parametrize(
        "source",
        ["x = 1\r\nif x:\r\n    print('''a\r\nb''')\r\n", "print(1)\0print(2)", "# coding: latin-1\nprint('ä')", ""],
        ids=["crlf", "nul", "coding", "empty"],
    )
    def test_odd_source_does_what_a_plain_file_does(self, bench: Bench, source: str) -> None:
        request = bench.request(source)
        (plain := bench.folder / "plain.py").write_bytes(source.encode())
        expected = subprocess.run(
            [request.interpreter, plain], env=dict(request.environment), capture_output=True, check=False
        )
        done = bench.runtime.run(request)
        assert (done.stdout.encode(), done.returncode) == (expected.stdout, expected.returncode)
        assert done.stderr.splitlines()[-1:] == expected.stderr.decode().splitlines()[-1:]

    def test_a_megabyte_of_source_runs(self, bench: Bench) -> None:
        assert bench.run("x = 1\n" * 175_000 + "print('end')").stdout == "end\n"

    def test_a_lone_surrogate_is_a_value_that_can_travel(self, bench: Bench) -> None:
        done = bench.run("print('\ud800')")
        assert (done.status, done.returncode, done.stdout) == ("failed", None, "")
        assert "U+D800 at character 7" in (done.error or "")
        assert done.model_dump_json()


@applies("output")
class TestOutput:
    def test_bytes_that_are_no_text_are_replaced(self, bench: Bench) -> None:
        done = bench.run(r"import os; os.write(1, b'\xff\xfe\0'); os.write(2, b'a\xe2\x82')")
        assert (done.stdout, done.stderr, done.stdout_bytes) == ("\ufffd\ufffd\0", "a\ufffd", 3)

    def test_exactly_the_limit_is_whole(self, bench: Bench) -> None:
        done = bench.run(f"print('x' * {LIMIT - 1})")
        assert (len(done.stdout), done.stdout_bytes, done.stdout_truncated) == (LIMIT, LIMIT, False)

    def test_one_byte_more_is_cut_before_the_character_on_the_edge(self, bench: Bench) -> None:
        script = f"import os; os.write(1, b'o'); print('x' * {LIMIT - 4} + '😀', end='', flush=True)"
        done = bench.run(script, environment={"PYTHONUTF8": "1", MARK: bench.mark})
        assert (done.stdout_bytes, done.stdout_truncated, done.status) == (LIMIT + 1, True, "succeeded")
        assert done.stdout == "o" + "x" * (LIMIT - 4) + f"\n{TRUNCATION_MARKER}\n"

    def test_endless_output_is_timed_out_and_cut(self, bench: Bench) -> None:
        done = bench.run("import os; os.execvp('yes', ['yes'])", timeout_s=2.5)
        assert (done.status, done.stdout_truncated) == ("timed_out", True)
        assert done.stdout_bytes > LIMIT and done.stdout.endswith(f"y\n{TRUNCATION_MARKER}\n")
