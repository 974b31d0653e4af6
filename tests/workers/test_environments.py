import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from tests.workers.archives import source_archive, wheel
from tests.workers.skill_folders import write_skill

from skillfleet_workers.environments.build import LAST_USED, Environments, base_interpreter, environment_key
from skillfleet_workers.environments.declared import Wanted
from skillfleet_workers.environments.uv import uv_environment
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.wire.contract import ToolError

INLINE = '# /// script\n# dependencies = ["six"]\n# ///\nimport six\n'
WHEEL = "demo-1.0-py3-none-any.whl"

BUILD_IN_A_PROCESS = """
import sys
from pathlib import Path
from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.models import Skill
print(Environments(Path(sys.argv[1])).interpreter_for(Skill("calc", Path(sys.argv[2]))))
"""

COUNTING_BACKEND = """
import os, shutil, sys, time
def build_wheel(directory, config_settings=None, metadata_directory=None):
    with open({log!r}, "a") as log:
        log.write(f"{{os.getpid()}}\\n")
    while not os.path.exists({go!r}):
        time.sleep(0.01)
    shutil.copy({wheel!r}, directory)
    return os.path.basename({wheel!r})
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    return Environments(tmp_path_factory.mktemp("environments"))


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environments:
    monkeypatch.setenv("UV_OFFLINE", "1")
    return Environments(tmp_path / "environments")


def built(interpreter: Path | ToolError) -> Path:
    assert isinstance(interpreter, Path), interpreter
    return interpreter


def error_of(interpreter: Path | ToolError) -> ToolError:
    assert isinstance(interpreter, ToolError), interpreter
    return interpreter


def output(interpreter: Path | ToolError, code: str) -> str:
    command = [str(built(interpreter)), "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={}, timeout=60).stdout.strip()


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


def leftovers(environments: Path) -> list[Path]:
    return list(environments.glob("*.tmp"))


class SlowSkill:
    """A skill whose one package says when its build begins and ends only when told."""

    def __init__(self, tmp_path: Path) -> None:
        self.go, self._log = tmp_path / "go", tmp_path / "builds"
        made = tmp_path / WHEEL
        made.write_bytes(wheel("demo", {"demo.py": "ANSWER = 42"}))
        backend = COUNTING_BACKEND.format(log=str(self._log), go=str(self.go), wheel=str(made))
        archive = "demo-1.0.tar.gz"
        files = {"requirements.txt": archive.encode(), archive: source_archive("demo", backend)}
        self.skill = write_skill(tmp_path / "calc", files)

    @property
    def builders(self) -> list[int]:
        """Process ids, one for each build that began."""
        return [int(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []


def builder_process(environments: Path, skill: Skill) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD_IN_A_PROCESS, str(environments), str(skill.root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_skill_that_declares_nothing_gets_the_base_interpreter(shared: Environments, tmp_path: Path) -> None:
    interpreter = shared.interpreter_for(write_skill(tmp_path / "calc", {}), "print(1)")
    assert interpreter == base_interpreter()
    assert output(interpreter, "import sys; print(sys.prefix == sys.base_prefix)") == "True"
    assert output(interpreter, "import importlib.util as u; print(u.find_spec('celery'))") == "None"


def test_a_worker_without_a_virtual_environment_hides_its_packages_behind_an_empty_one(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {})
    command = [str(base_interpreter()), "-c", BUILD_IN_A_PROCESS, str(tmp_path / "environments"), str(skill.root)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=60)
    interpreter = Path(run.stdout.strip())
    assert interpreter.is_relative_to(tmp_path / "environments")
    assert output(interpreter, "import sys; print([p for p in sys.path if 'site-packages' in p])") == str(
        [str(next((interpreter.parent.parent / "lib").glob("python*/site-packages")))]
    )


@pytest.mark.parametrize("name", ["venv", ".venv"])
def test_the_environment_that_a_skill_brings_along_is_used(shared: Environments, tmp_path: Path, name: str) -> None:
    skill = write_skill(tmp_path / "calc", {"requirements.txt": "no-such-package-of-any-name"})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", skill.root / name], check=True, timeout=60)
    interpreter = shared.interpreter_for(skill, INLINE)
    assert interpreter == skill.root / name / "bin" / "python"
    assert output(interpreter, "import sys; print(sys.prefix)") == str(skill.root / name)


def test_an_environment_without_a_working_interpreter_is_an_error(shared: Environments, tmp_path: Path) -> None:
    empty = write_skill(tmp_path / "empty", {"venv/pyvenv.cfg": ""})
    dangling = write_skill(tmp_path / "dangling", {".venv/bin/x": ""})
    (dangling.root / ".venv/bin/python").symlink_to("/nowhere/python")
    not_executable = write_skill(tmp_path / "plain", {"venv/bin/python": ""})
    for skill in (empty, dangling, not_executable):
        assert error_of(shared.interpreter_for(skill, None)).error == "broken_venv"


def test_a_package_of_the_index_is_installed_and_compiled(shared: Environments, tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {"requirements.txt": "six"})
    interpreter = built(shared.interpreter_for(skill, None))
    assert output(interpreter, "import six; print(six.__cached__)").startswith(str(interpreter.parents[1]))
    assert list(interpreter.parents[1].glob("lib/python*/site-packages/__pycache__/six.*.pyc"))
    assert output(interpreter, "import importlib.util as u; print(u.find_spec('celery'))") == "None"
    assert output(interpreter, "import sys; print(sys.prefix)") == str(interpreter.parents[1])
    assert (interpreter.parents[1] / LAST_USED).exists()


def test_what_the_script_itself_asks_for_is_installed(shared: Environments, tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {})
    assert output(shared.interpreter_for(skill, INLINE), "import six; print(six.__name__)") == "six"
    assert shared.interpreter_for(skill, "import six") == base_interpreter()


def test_a_package_that_does_not_exist_is_named_with_the_reason(shared: Environments, tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {"requirements.txt": "six==0.0.99"})
    failed = error_of(shared.interpreter_for(skill, None))
    assert failed.error == "environment_build_failed"
    assert "there is no version of six==0.0.99" in failed.message
    assert "requirements.txt" in failed.fix
    assert str(tmp_path) not in failed.message
    assert len(failed.message) < 2000


def test_the_same_requirements_share_an_environment(offline: Environments, tmp_path: Path) -> None:
    made = wheel("demo", {"demo.py": ""})
    one = write_skill(tmp_path / "one", {"requirements.txt": WHEEL, WHEEL: made})
    first = built(offline.interpreter_for(one, None))
    assert offline.interpreter_for(one, "other script") == first
    write_skill(tmp_path / "one", {"requirements.txt": f"# a comment\n./{WHEEL}\n"})
    assert offline.interpreter_for(one, None) == first
    write_skill(tmp_path / "one", {WHEEL: wheel("demo", {"demo.py": "x = 1"})})
    assert offline.interpreter_for(one, None) != first


def test_a_key_depends_on_what_is_installed_and_not_on_who_asks() -> None:
    plain = Wanted("requirements.txt", ("six",))
    assert environment_key(plain) == environment_key(Wanted("pyproject.toml", ("six",)))
    others = [Wanted("", ("six>1",)), Wanted("", ("six",), ("00",)), Wanted("", ("six",), wheels_only=True)]
    assert len({environment_key(wanted) for wanted in (plain, *others)}) == 4


def test_a_skill_that_cannot_be_written_to_works_and_stays_as_it_was(offline: Environments, tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {"requirements.txt": WHEEL, WHEEL: wheel("demo", {"demo.py": "x = 7"})})
    before = sorted(skill.root.rglob("*"))
    for path in before:
        path.chmod(0o444)
    skill.root.chmod(0o555)
    stamps = [path.stat().st_mtime_ns for path in (skill.root, *before)]
    assert output(offline.interpreter_for(skill, None), "import demo; print(demo.x)") == "7"
    assert sorted(skill.root.rglob("*")) == before
    assert [path.stat().st_mtime_ns for path in (skill.root, *before)] == stamps


def test_installing_a_wheel_runs_none_of_its_code(offline: Environments, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    files = {"demo.pth": f"import os; open({str(ran)!r}, 'w')\n", "demo.py": "x = 1"}
    skill = write_skill(tmp_path / "calc", {"requirements.txt": WHEEL, WHEEL: wheel("demo", files)})
    interpreter = built(offline.interpreter_for(skill, None))
    assert list(interpreter.parents[1].glob("lib/python*/site-packages/__pycache__/demo.*.pyc"))
    assert not ran.exists()
    output(interpreter, "import demo")
    assert ran.exists()


def test_a_failure_is_remembered_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    skill = write_skill(tmp_path / "calc", {"requirements.txt": WHEEL, WHEEL: b"no archive"})
    remembering = Environments(tmp_path / "environments")
    forgetful = Environments(tmp_path / "environments", failure_remembered_s=0)
    failed = error_of(remembering.interpreter_for(skill, None))
    assert remembering.interpreter_for(skill, None) is failed
    again = forgetful.interpreter_for(skill, None)
    assert forgetful.interpreter_for(skill, None) is not again
    assert not leftovers(tmp_path / "environments")
    # A correction makes other requirements: nothing of the failure sticks to them.
    write_skill(tmp_path / "calc", {WHEEL: wheel("demo", {"demo.py": ""})})
    assert built(remembering.interpreter_for(skill, None))


def test_callers_in_threads_and_processes_build_once(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    environments = Environments(folder)
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(environments.interpreter_for, slow.skill, None) for _ in range(4)]
        processes = [builder_process(folder, slow.skill) for _ in range(2)]
        wait_until(lambda: slow.builders)
        wait_until(lambda: sum(str(folder) in _open_files(p.pid) for p in processes) == 2)
        slow.go.touch()
        interpreters = {str(built(call.result(60))) for call in calls}
    interpreters |= {process.communicate(timeout=60)[0].strip() for process in processes}
    assert len(interpreters) == 1
    assert len(slow.builders) == 1
    assert output(Path(interpreters.pop()), "import demo; print(demo.ANSWER)") == "42"
    assert not leftovers(folder)


def _open_files(pid: int) -> str:
    return json.dumps([file.path for file in psutil.Process(pid).open_files()])


def test_after_a_builder_is_killed_the_next_one_builds(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    victim = builder_process(folder, slow.skill)
    wait_until(lambda: slow.builders)
    assert victim.poll() is None
    uv = psutil.Process(victim.pid).children()[0]
    victim.kill()
    victim.wait()
    assert leftovers(folder)
    assert not list(folder.glob("*/bin/python"))
    uv.kill()
    slow.go.touch()
    interpreter = Environments(folder).interpreter_for(slow.skill, None)
    assert output(interpreter, "import demo; print(demo.ANSWER)") == "42"
    assert len(slow.builders) == 2
    assert not leftovers(folder)
    wait_until(lambda: not psutil.pid_exists(slow.builders[0]))


def test_a_builder_that_outlives_its_killed_worker_harms_nobody(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    victim = builder_process(folder, slow.skill)
    wait_until(lambda: slow.builders)
    uv = psutil.Process(victim.pid).children()[0]
    victim.kill()
    victim.wait()
    assert uv.is_running()
    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(Environments(folder).interpreter_for, slow.skill, None)
        slow.go.touch()
        assert output(second.result(60), "import demo; print(demo.ANSWER)") == "42"
    wait_until(lambda: not uv.is_running() or uv.status() == psutil.STATUS_ZOMBIE)
    assert output(second.result(), "import demo; print(demo.ANSWER)") == "42"


def test_a_build_that_takes_too_long_is_dead_and_leaves_nothing(tmp_path: Path) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "environments"
    environments = Environments(folder, build_timeout_s=4)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(environments.interpreter_for, slow.skill, None)
        wait_until(lambda: slow.builders)
        assert psutil.pid_exists(slow.builders[0])
        failed = error_of(call.result(60))
    assert failed.error == "environment_build_failed"
    assert "longer than 4 s" in failed.message
    wait_until(lambda: not psutil.pid_exists(slow.builders[0]))
    assert not leftovers(folder)
    assert not list(folder.glob("*/bin/python"))


def test_an_environment_whose_interpreter_is_gone_is_built_again(offline: Environments, tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {"requirements.txt": WHEEL, WHEEL: wheel("demo", {"demo.py": "x = 1"})})
    interpreter = built(offline.interpreter_for(skill, None))
    interpreter.unlink()
    interpreter.symlink_to("/nowhere/python")
    assert output(offline.interpreter_for(skill, None), "import demo; print(demo.x)") == "1"


def test_different_environments_are_built_side_by_side(offline: Environments, tmp_path: Path) -> None:
    skills = [
        write_skill(tmp_path / f"s{n}", {"requirements.txt": WHEEL, WHEEL: wheel("demo", {"demo.py": f"x = {n}"})})
        for n in range(3)
    ]
    with ThreadPoolExecutor(3) as threads:
        interpreters = list(threads.map(offline.interpreter_for, skills))
    assert [output(interpreter, "import demo; print(demo.x)") for interpreter in interpreters] == ["0", "1", "2"]


def test_uv_sees_nothing_of_the_workers_secrets() -> None:
    worker = {
        "PATH": "/bin", "HOME": "/root", "TMPDIR": "/tmp", "LANG": "C", "UV_INDEX_URL": "u", "SSL_CERT_FILE": "c",
        "HTTPS_PROXY": "p", "no_proxy": "n", "REQUESTS_CA_BUNDLE": "b", "LLM_API_KEY": "secret",
        "SKILLFLEET_REDIS_URL": "secret", "PIP_INDEX_URL": "x", "AWS_SECRET_ACCESS_KEY": "secret",
    }  # fmt: skip
    passed = uv_environment(worker, Path("/cache"))
    refused = {"LLM_API_KEY", "SKILLFLEET_REDIS_URL", "PIP_INDEX_URL", "AWS_SECRET_ACCESS_KEY"}
    assert passed == {name: worker[name] for name in worker if name not in refused} | {"UV_CACHE_DIR": "/cache"}
