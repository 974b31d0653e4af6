import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.workers.archives import wheel
from tests.workers.environment_checks import built, error_of, leftovers, output
from tests.workers.skill_folders import write_skill

from skillfleet_workers.environments.build import Environments, environment_key
from skillfleet_workers.environments.declared import Wanted
from skillfleet_workers.environments.shelf import LAST_USED
from skillfleet_workers.environments.uv import uv_environment

INLINE = '# /// script\n# dependencies = ["six"]\n# ///\nimport six\n'
WHEEL = "demo-1.0-py3-none-any.whl"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    return Environments(tmp_path_factory.mktemp("environments"))


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environments:
    monkeypatch.setenv("UV_OFFLINE", "1")
    return Environments(tmp_path / "environments")


def test_a_skill_that_declares_nothing_gets_the_base_interpreter_without_any_packages(
    shared: Environments, tmp_path: Path
) -> None:
    interpreter = built(shared.interpreter_for(write_skill(tmp_path / "calc", {}), "print(1)"))
    assert output(interpreter, "import sys; print(sys.base_prefix)") == sys.base_prefix
    assert output(interpreter, "import sys; print([p for p in sys.path if 'site-packages' in p])") == str(
        [str(next((interpreter.parent.parent / "lib").glob("python*/site-packages")))]
    )
    assert output(interpreter, "import importlib.util as u; print(u.find_spec('celery'))") == "None"


def test_all_skills_that_declare_nothing_share_one_environment(shared: Environments, tmp_path: Path) -> None:
    one, other = (write_skill(tmp_path / name, {}) for name in ("one", "other"))
    assert shared.interpreter_for(one, "print(1)") == shared.interpreter_for(other, "import six")


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
    assert shared.interpreter_for(skill, "import six") != shared.interpreter_for(skill, INLINE)


def test_the_same_requirements_share_an_environment(offline: Environments, tmp_path: Path) -> None:
    made = wheel("demo", {"demo.py": ""})
    one = write_skill(tmp_path / "one", {"requirements.txt": WHEEL, WHEEL: made})
    first = built(offline.interpreter_for(one, None))
    assert offline.interpreter_for(one, "other script") == first
    write_skill(tmp_path / "one", {"requirements.txt": f"# a comment\n./{WHEEL}\n"})
    assert offline.interpreter_for(one, None) == first
    write_skill(tmp_path / "one", {WHEEL: wheel("demo", {"demo.py": "x = 1"})})
    assert offline.interpreter_for(one, None) != first


def test_a_start_runs_no_hook_that_nobody_asked_for(shared: Environments, tmp_path: Path) -> None:
    """Code in a .pth file is paid for by every script."""
    for files in ({}, {"requirements.txt": "six"}):
        interpreter = built(shared.interpreter_for(write_skill(tmp_path / "calc", files), None))
        assert not list(interpreter.parents[1].rglob("*.pth"))


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
