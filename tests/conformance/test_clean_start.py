"""Every script starts as the first one ever: nothing of earlier runs or of the runtime itself is with it."""

import sys
from pathlib import Path

from tests.conformance.harness import Bench
from tests.conformance.living import MARK
from tests.conformance.table import applies

PATCHES = """
import builtins, json, os, random, sys, decimal, locale, signal, warnings
builtins.print = None
builtins.len = lambda it: -1
json.dumps = lambda it: "patched"
json.left = sys.left = True
sys.path.append("/left")
sys.modules["left_module"] = json
os.environ["LEFT"] = "1"
os.umask(0)
random.seed(1)
decimal.getcontext().prec = 3
warnings.simplefilter("error")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.setrecursionlimit(90)
sys.excepthook = lambda *_: None
"""

LOOKS = """
import decimal, json, os, signal, sys
print(len([1]), json.dumps([1]), hasattr(json, "left"), hasattr(sys, "left"), "/left" in sys.path)
print("left_module" in sys.modules, "LEFT" in os.environ, oct(os.umask(0o22)), decimal.getcontext().prec)
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, sys.getrecursionlimit())
print(sys.excepthook is sys.__excepthook__)
"""

HUNTS = """
import gc, os, socket, sys, types
ours = [name for name in sys.modules if "skillfleet" in name]
sockets = [it for it in gc.get_objects() if isinstance(it, socket.socket)]
others = [it.__name__ for it in gc.get_objects() if isinstance(it, types.ModuleType) and "skillfleet" in it.__name__]
frames = [it.f_code.co_filename for it in gc.get_objects() if isinstance(it, types.FrameType)]
foreign = [name for name in frames if name != __file__]
descriptors = sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1]
print(ours, sockets, others, foreign, descriptors)
"""

IMPORTS = """
import importlib._bootstrap_external as machinery, sys
compiled = []
plain = machinery.SourceLoader.source_to_code
def counted(self, data, path, **more):
    compiled.append(path)
    return plain(self, data, path, **more)
machinery.SourceLoader.source_to_code = counted
import numpy
print(len(compiled), "numpy" in sys.modules)
"""


@applies("clean start")
class TestCleanStart:
    def test_what_one_script_patches_no_other_sees(self, bench: Bench) -> None:
        clean = bench.run(LOOKS).stdout
        assert clean.startswith("1 [1] False False False\n")
        assert bench.run(PATCHES).status == "succeeded"
        assert bench.run(LOOKS).stdout == clean

    def test_random_numbers_differ_from_run_to_run(self, bench: Bench) -> None:
        script = "import random, uuid, secrets, os; print(random.random(), uuid.uuid4(), secrets.token_hex())"
        assert len({bench.run(script).stdout for _ in range(5)}) == 5

    def test_random_numbers_of_a_preloaded_module_differ_too(self, bench: Bench) -> None:
        script = "import random, tempfile; print(random.getrandbits(64), next(tempfile._get_candidate_names()))"
        told = {bench.run(script, preload=("random", "tempfile")).stdout for _ in range(5)}
        assert len({line.split()[0] for line in told}) == len({line.split()[1] for line in told}) == 5

    def test_random_numbers_of_numpy_differ_too(self, bench: Bench, numpy_interpreter: Path) -> None:
        script = "import numpy; print(numpy.random.rand(), numpy.random.default_rng().random())"
        told = {bench.run(script, interpreter=numpy_interpreter, preload=("numpy",)).stdout for _ in range(4)}
        assert len({line.split()[0] for line in told}) == len({line.split()[1] for line in told}) == 4

    def test_a_given_seed_gives_the_same_numbers(self, bench: Bench) -> None:
        script = "import random; random.seed(7); print(random.random())"
        assert len({bench.run(script).stdout for _ in range(2)}) == 1

    def test_nothing_of_ours_is_within_reach(self, bench: Bench) -> None:
        assert bench.run(HUNTS).stdout == "[] [] [] [] [0, 1, 2]\n"

    def test_variables_of_one_run_are_not_those_of_the_next(self, bench: Bench) -> None:
        script = "import os; print(sorted(os.environ))"
        first = bench.run(script, environment={MARK: bench.mark, "FIRST": "1"}).stdout
        second = bench.run(script, environment={MARK: bench.mark, "SECOND": "1"}).stdout
        assert "FIRST" in first and "FIRST" not in second and "SECOND" in second

    def test_a_module_that_changes_between_two_runs_is_read_anew(self, bench: Bench) -> None:
        request = bench.request("import changing; print(changing.value)", preload=("changing",))
        environment = {**request.environment, "PYTHONPATH": str(request.skill_root), "PYTHONDONTWRITEBYTECODE": "1"}
        told = []
        for value in ("1", "'two'"):
            (request.skill_root / "changing.py").write_text(f"value = {value}\n")
            done = bench.run(request.script, preload=request.preload, environment=environment)
            told.append(done.stdout)
        assert told == ["1\n", "two\n"]

    def test_preloading_what_fails_or_is_missing_changes_nothing(self, bench: Bench) -> None:
        (bench.request("").skill_root / "failing.py").write_text("raise RuntimeError('on import')")
        done = bench.run("import json; print(json.dumps(1))", preload=("failing", "no_such_module", "json"))
        assert (done.status, done.stdout, done.stderr) == ("succeeded", "1\n", "")

    def test_a_fresh_interpreter_is_given_on_demand(self, bench: Bench) -> None:
        done = bench.run("import sys; print('json' in sys.modules)", preload=("json",), fresh_interpreter=True)
        assert (done.stdout, done.interpreter) == ("False\n", sys.executable)


@applies("clean start")
def test_imports_compile_nothing_and_write_nothing(bench: Bench, numpy_interpreter: Path) -> None:
    environment = {MARK: bench.mark, "PYTHONDONTWRITEBYTECODE": "1"}
    folder = numpy_interpreter.parents[1]
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}
    for _ in range(2):
        done = bench.run(IMPORTS, interpreter=numpy_interpreter, environment=environment)
        assert (done.stdout, done.stderr) == ("0 True\n", "")
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()} == before
