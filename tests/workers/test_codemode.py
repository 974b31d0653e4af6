"""Code mode from Python: what code sees, what it gives back, and what it can't reach."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.outside import servers
from tests.conftest import Require
from tests.workers.strongest import BEHIND, strongest

from skillfleet_workers import CodeModeRuntime
from skillfleet_workers.runtimes.code_runs import LOST_RESULT, NO_RESULT, RESULT_LIMIT_BYTES, answered, code_run
from skillfleet_workers.wire.execution import OUTPUT_LIMIT_BYTES, ScriptExecution
from skillfleet_workers.wire.shown import SHOWN_LIMIT_CHARS, shown_to_model

SPEC = {"openapi": "3.1.0", "paths": {"/users": {"get": {}}, "/users/{id}": {"get": {}}, "/pets": {"get": {}}}}
CTX = {"base": "https://api", "seen": []}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeModeRuntime]:
    with (
        strongest(tmp_path_factory.mktemp("scratch")) as below,
        CodeModeRuntime(SPEC, CTX, runtime=below) as made,
    ):
        yield made


def outcome(run: ScriptExecution) -> tuple[str, Any, str]:
    return run.status, run.result, run.stdout


@pytest.mark.parametrize(
    ("code", "result", "printed"),
    [
        ("[p for p in spec['paths'] if '/users' in p]", ["/users", "/users/{id}"], ""),
        ("found = len(spec['paths'])\nresult = found", 3, ""),
        ("found = len(spec['paths'])\nfound + 1", 4, ""),
        ("result = 1\n2", 1, ""),
        ("print('words')", None, "words\n"),
        ("print('words', end='')\nresult = {'ä': [None, True, 1.5]}", {"ä": [None, True, 1.5]}, "words"),
        ("def double(n):\n    return n * 2\n\nclass Pair: size = double(1)\nPair.size", 2, ""),
        ("result = None", None, ""),
    ],
)  # fmt: skip
def test_the_result_is_what_was_assigned_else_the_last_expression(
    runtime: CodeModeRuntime, code: str, result: object, printed: str
) -> None:
    run = runtime.search(code)
    assert outcome(run) == ("succeeded", result, printed), run.stderr
    assert (run.script, run.stdout_bytes) == (code, len(printed))


def test_a_result_of_nothing_and_no_result_are_told_apart(runtime: CodeModeRuntime) -> None:
    assert json.loads(shown_to_model(runtime.search("result = None")))["result"] is None
    nothing = runtime.search("found = 1")
    assert (nothing.status, nothing.events) == ("succeeded", ())
    assert "result" not in json.loads(shown_to_model(nothing))
    assert NO_RESULT in nothing.stderr


def test_only_execute_sees_the_context(runtime: CodeModeRuntime) -> None:
    assert runtime.execute("ctx['base'] + '/users'").result == "https://api/users"
    assert "NameError: name 'ctx' is not defined" in runtime.search("ctx").stderr


def test_what_code_changes_is_as_it_was_for_the_next(runtime: CodeModeRuntime) -> None:
    spoil = "import json\nctx['seen'].append(1)\nspec.clear()\njson.loads = None\nresult = [ctx['seen'], spec]"
    assert runtime.run(spoil).result == [[1], {}]
    after = "import json\nresult = [ctx['seen'], len(spec['paths']), json.loads('1')]"
    assert runtime.run(after).result == [[], 3, 1]


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("import json, re, math, datetime, collections, itertools, functools\nmath.floor(2.5)", 2),
        ("import urllib.parse\nurllib.parse.quote('a b')", "a%20b"),
        ("from urllib import parse\nparse.quote('a b')", "a%20b"),
        ("from collections.abc import Mapping\nisinstance(spec, Mapping)", True),
        ("from datetime import datetime\ndatetime.strptime('2024-01-31', '%Y-%m-%d').strftime('%d.%m.')", "31.01."),
    ],
)  # fmt: skip
def test_the_usual_modules_may_be_imported(runtime: CodeModeRuntime, code: str, result: object) -> None:
    assert runtime.search(code).result == result


@pytest.mark.parametrize("code", ["import os", "from os import path", "import urllib.request", "import time",
                                  "from urllib import request", "__import__('os')"])  # fmt: skip
def test_others_are_refused_and_the_allowed_ones_are_named(runtime: CodeModeRuntime, code: str) -> None:
    run = runtime.run(code)
    assert run.status == "failed"
    last = run.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ") and "may not be imported; allowed: json, re, math" in last


@pytest.mark.parametrize("code", ["open('x')", "eval('1')", "exec('1')", "compile('1', '', 'eval')", "input()"])
def test_what_reaches_files_or_other_code_is_not_there_and_the_reason_is_told(
    runtime: CodeModeRuntime, code: str
) -> None:
    assert f"NameError: {code.partition('(')[0]}() is not available" in runtime.run(code).stderr


def test_an_error_is_told_by_the_lines_of_the_code_alone(runtime: CodeModeRuntime) -> None:
    code = "import json\ndef inner():\n    return json.loads('{')\n\ntry:\n    inner()\nexcept ValueError:\n    1 / 0"
    told = runtime.run(code).stderr
    assert "File \"<code>\", line 3, in inner\n    return json.loads('{')" in told
    assert 'File "<code>", line 8, in <module>' in told and told.endswith("ZeroDivisionError: division by zero\n")
    assert {line.split('"')[1] for line in told.splitlines() if line.startswith("  File ")} == {"<code>"}


def test_a_syntax_error_shows_its_line(runtime: CodeModeRuntime) -> None:
    told = runtime.run("x = 1\ny = = 2\n").stderr
    assert told.startswith('  File "<code>", line 2\n    y = = 2\n')
    assert told.splitlines()[-1].startswith("SyntaxError: ")


@pytest.mark.parametrize(
    "code",
    ["{1, 2}", "result = spec", "object()", "float('nan')", "{(1, 2): 3}", "a = []\na.append(a)\na", "10 ** 9000"],
)  # fmt: skip
def test_a_result_that_is_no_json_is_said_to_be_none(runtime: CodeModeRuntime, code: str) -> None:
    run = runtime.run("spec = spec.keys()\n" + code)
    assert (run.status, run.events) == ("failed", ())
    assert run.stderr.startswith("TypeError: the result is no JSON: ") and "Traceback" not in run.stderr


def test_a_result_nested_too_deep_to_be_handed_on_is_a_failure(runtime: CodeModeRuntime) -> None:
    run = runtime.run("a = []\nfor _ in range(150):\n    a = [a]\na")
    assert run.status == "failed" and "nested more than 100 deep" in (run.error or "")


def test_a_result_that_no_text_can_carry_is_mended(runtime: CodeModeRuntime) -> None:
    run = runtime.run("'\\ud800'")
    assert run.result == "?" and run.model_dump_json()


def test_a_huge_result_is_cut_and_says_so(runtime: CodeModeRuntime) -> None:
    run = runtime.run("['é' * 100] * 100_000")
    (event,) = run.events
    assert event["truncated"] and event["bytes"] > 20_000_000
    assert RESULT_LIMIT_BYTES - 4 < len(event["value"].encode()) <= RESULT_LIMIT_BYTES
    shown = json.loads(shown_to_model(run))
    assert shown["result_truncated"] and shown["result"].startswith('["éé')
    assert len(shown["result"]) < SHOWN_LIMIT_CHARS + 100


def test_a_long_result_is_kept_whole_and_shown_in_part(runtime: CodeModeRuntime) -> None:
    run = runtime.run("['x' * 100] * 1000")
    assert run.result == ["x" * 100] * 1000
    shown = json.loads(shown_to_model(run))
    assert shown["result_truncated"] and "characters left out" in shown["result"]


def test_a_result_behind_too_much_output_is_said_to_be_lost(runtime: CodeModeRuntime) -> None:
    run = runtime.run(f"print('x' * {OUTPUT_LIMIT_BYTES + 1})\nresult = 1")
    assert (run.status, run.error, run.events) == ("failed", LOST_RESULT, ())


def test_endless_code_is_ended_and_what_it_printed_is_kept(runtime: CodeModeRuntime) -> None:
    run = runtime.run("print('before')\nwhile True: pass", timeout_s=2)
    assert (run.status, run.stdout) == ("timed_out", "before\n")


def test_a_spec_of_five_megabytes_is_searched(tmp_path: Path) -> None:
    spec = {"paths": {f"/things/{n}": {"get": {"summary": "s" * 100}} for n in range(40_000)}}
    assert len(json.dumps(spec)) > 5_000_000
    with strongest(tmp_path) as below, CodeModeRuntime(spec, runtime=below) as large:
        assert large.search("[p for p in spec['paths'] if p.endswith('9999')]").result == [
            f"/things/{n}9999" for n in ("", 1, 2, 3)
        ]
        assert len(json.dumps(large.get_tool_definitions())) < 3_000


@pytest.mark.parametrize(
    "answer",
    ['{"truncated": true, "bytes": 1e999, "value": ""}', '{"truncated": false, "bytes": 1, "value": 1e999}',
     '{"truncated": false, "bytes": 1, "value": "\\ud800"}', '{"truncated": false, "bytes": 1, "value": NaN}',
     '{"truncated": true, "bytes": [], "value": ""}', '{"bytes": 1}', "[]", "1", "", "{", "[" * 100_000],
)  # fmt: skip
def test_an_answer_that_the_runner_did_not_write_is_a_failure_and_no_more(answer: str) -> None:
    asked = code_run("1", {})
    run = answered(ScriptExecution(status="succeeded", returncode=0, stdout=f"words\n{asked.token}{answer}\n"), asked)
    assert (run.status, run.events, run.stdout) == ("failed", (), "words")
    assert "the result cannot be read" in (run.error or "") and run.model_dump_json()


@pytest.fixture(scope="module")
def unheld() -> Iterator[CodeModeRuntime]:
    """What the same code reaches where no sandbox holds it."""
    with CodeModeRuntime(SPEC, network="host") as made:
        yield made


def test_a_way_around_the_refusals_ends_in_the_sandbox(
    runtime: CodeModeRuntime, unheld: CodeModeRuntime, require: Require, tmp_path: Path
) -> None:
    require(runtime.run("1").isolation == "sandbox", "nothing holds hostile code here")
    secret = tmp_path / "secret"
    secret.write_text("x")
    for path in (secret, "/etc/shadow", Path(__file__)):
        code = f"{BEHIND}['stat']({str(path)!r}).st_size > 0"
        assert unheld.run(code).result is True
        assert runtime.run(code).stderr.splitlines()[-1].startswith("FileNotFoundError: ")
    written = runtime.run(f"{BEHIND}['mkdir']('/usr/mine')").stderr.splitlines()[-1]
    assert written.startswith(("OSError: ", "PermissionError: "))


def test_it_reaches_no_network_around_the_refusals_either(
    runtime: CodeModeRuntime, unheld: CodeModeRuntime, require: Require, tmp_path: Path
) -> None:
    require(runtime.run("1").isolation == "sandbox", "nothing holds hostile code here")
    with servers(tmp_path) as outside:
        address = ("127.0.0.1", int(outside.addresses["tcp"]))
        code = (
            f"socket = {BEHIND}['sys'].modules['builtins'].__import__('socket')\n"
            f"socket.create_connection({address}, 5).send(b'from the code')"
        )
        assert runtime.run(code).stderr.splitlines()[-1].startswith("ConnectionRefusedError: ")
        assert outside.heard == []
        assert unheld.run(code).result == len(b"from the code")


def test_a_search_has_no_network_even_where_execute_has(require: Require, tmp_path: Path) -> None:
    code = f"{BEHIND}['readlink']('/proc/self/ns/net')"
    with strongest(tmp_path) as below, CodeModeRuntime(SPEC, runtime=below, network="host") as online:
        shared, alone = online.execute(code), online.search(code)
        require(shared.isolation == "sandbox", "nothing holds hostile code here")
        assert shared.result == str(Path("/proc/self/ns/net").readlink()) != alone.result


def test_the_two_tools_are_defined_with_the_shape_of_the_spec_and_the_keys_of_the_context(
    runtime: CodeModeRuntime,
) -> None:
    search, execute = (tool["function"] for tool in runtime.get_tool_definitions())
    assert (search["name"], execute["name"]) == ("search", "execute")
    assert (
        "spec is {openapi, paths: {'/users': {...}, '/users/{id}': {...}, '/pets': {...}}}" in search["description"]
    )
    assert "ctx has base, seen" in execute["description"] and "ctx has" not in search["description"]
    assert "https://api" not in execute["description"]
    assert search["parameters"]["required"] == list(search["parameters"]["properties"]) == ["code"]


def test_in_a_subprocess_the_context_is_json() -> None:
    with pytest.raises(TypeError, match=r"ctx is no JSON: .*mode='inprocess'"):
        CodeModeRuntime(SPEC, {"client": object()})


def test_in_process_code_works_with_any_object_and_under_the_same_rules() -> None:
    class Client:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def get(self, path: str) -> str:
            self.calls.append(path)
            return f"got {path}"

    client = Client()
    with CodeModeRuntime(SPEC, {"client": client}, mode="inprocess") as inside:
        run = inside.run("print('words')\nresult = ctx['client'].get('/users')")
        assert outcome(run) == ("succeeded", "got /users", "words\n") and client.calls == ["/users"]
        assert (run.isolation, run.runtime) == ("none", "inprocess")
        assert inside.search("[p for p in spec['paths'] if 'pets' in p]").result == ["/pets"]
        assert inside.run("ctx['client']").result is client
        assert "os may not be imported" in inside.run("import os").stderr
        failed = inside.run("def f():\n    return ctx['nope']\nf()")
        assert failed.status == "failed" and "line 2, in f\n    return ctx['nope']" in failed.stderr
        assert "ctx has client" in inside.get_tool_definitions()[1]["function"]["description"]


def test_without_a_runtime_of_its_own_it_brings_plain_processes() -> None:
    began = time.monotonic()
    with CodeModeRuntime({"n": 41}) as plain:
        run = plain.search("spec['n'] + 1")
    assert (run.result, run.runtime, run.isolation) == (42, "process", "process"), time.monotonic() - began
    assert not plain.folder.exists()
