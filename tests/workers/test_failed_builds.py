"""A build that fails says which package, and why."""

from pathlib import Path

import pytest
from tests.workers.archives import source_archive, wheel
from tests.workers.environment_checks import error_of, leftovers
from tests.workers.skill_folders import write_skill

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.environments.failures import HEAD_CHARS, TAIL_CHARS
from skillfleet_workers.wire.contract import ToolError

TALKATIVE_BACKEND = """
def build_wheel(directory, config_settings=None, metadata_directory=None):
    for number in range(500):
        print("compiling file", number, "of many")
    raise RuntimeError("fatal error: Python.h: No such file or directory")
"""
NO_WHEEL = '# /// script\n# dependencies = ["demo"]\n# ///\n'


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    return Environments(tmp_path_factory.mktemp("environments"))


def failed(environments: Environments, folder: Path, files: dict[str, str | bytes]) -> ToolError:
    error = error_of(environments.interpreter_for(write_skill(folder / "calc", files), None))
    assert error.error == "environment_build_failed"
    assert "requirements.txt" in error.fix
    assert len(error.message) < HEAD_CHARS + TAIL_CHARS + 500
    return error


def test_a_package_that_does_not_exist_is_named(environments: Environments, tmp_path: Path) -> None:
    name = "skillfleet-has-no-such-package"
    error = failed(environments, tmp_path, {"requirements.txt": f"{name}\nsix\n"})
    assert f"{name} was not found" in error.message
    assert str(tmp_path) not in error.message


def test_a_version_that_does_not_exist_is_named(environments: Environments, tmp_path: Path) -> None:
    error = failed(environments, tmp_path, {"requirements.txt": "six==0.0.99"})
    assert "there is no version of six==0.0.99" in error.message
    assert "could not be built: error" in error.message, "not with what went well before"


def test_packages_that_do_not_go_together_are_named(environments: Environments, tmp_path: Path) -> None:
    error = failed(environments, tmp_path, {"requirements.txt": "six==1.16.0\nsix==1.17.0\n"})
    assert "six==1.16.0" in error.message.partition("could not be built")[2]


@pytest.mark.parametrize("needed_by_another", [False, True])
def test_a_package_whose_build_fails_is_named_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed_by_another: bool
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    archive = "demo-1.0.tar.gz"
    files: dict[str, str | bytes] = {"requirements.txt": archive, archive: source_archive("demo", TALKATIVE_BACKEND)}
    if needed_by_another:
        top = "top-1.0-py3-none-any.whl"
        files |= {"requirements.txt": f"{top}\n{archive}\n", top: wheel("top", {"top.py": ""}, requires="demo")}
    told = list[str]()
    folder = tmp_path / "environments"
    skill = write_skill(tmp_path / "calc", files)
    error = error_of(Environments(folder).interpreter_for(skill, None, None, told.append))
    why = error.message.partition("could not be built: ")[2]
    assert why.startswith("error: Failed to build `demo @ ")
    assert "fatal error: Python.h: No such file or directory" in why
    assert len(error.message) < HEAD_CHARS + TAIL_CHARS + 500
    assert str(folder) not in error.message
    assert not leftovers(folder)


def test_an_archive_that_is_none_is_named(
    environments: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    broken = "demo-1.0-py3-none-any.whl"
    error = failed(environments, tmp_path, {"requirements.txt": broken, broken: b"no archive"})
    assert "demo" in error.message.partition("could not be built: ")[2]


def test_a_script_that_asks_for_what_has_no_wheel_is_told_so(
    environments: Environments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    (links / "demo-1.0.tar.gz").write_bytes(source_archive("demo", TALKATIVE_BACKEND))
    monkeypatch.setenv("UV_FIND_LINKS", str(links))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    error = error_of(environments.interpreter_for(write_skill(tmp_path / "calc", {}), NO_WHEEL))
    assert "demo" in error.message.partition("could not be built: ")[2]
    assert "Only packages with wheels" in error.fix
