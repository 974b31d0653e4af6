import platform
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill

from skillfleet_workers.environments.declared import INLINE, Wanted, wanted
from skillfleet_workers.environments.requirements import RequirementsError, parsed, parsed_lines
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.wire.contract import ToolError

SCRIPT = '# /// script\n# dependencies = ["Six>=1"]\n# ///\nimport six\n'


def lines_of(skill: Skill, source: str | None = None) -> tuple[str, ...]:
    found = wanted(skill, source)
    assert isinstance(found, Wanted), found
    return found.lines


def problem_of(skill: Skill, source: str | None = None) -> str:
    found = wanted(skill, source)
    assert isinstance(found, ToolError), found
    assert found.error == "bad_requirements"
    return found.message


def test_the_first_declaration_that_exists_holds(tmp_path: Path) -> None:
    folder = tmp_path / "calc"
    root = write_skill(folder, {}).root
    skill = Skill("calc", root, requirements=("from-skill-md",))
    assert lines_of(skill) == ("from-skill-md",)
    write_skill(folder, {"requirements.txt": "from-file"})
    assert lines_of(skill) == ("from-file",)
    write_skill(folder, {"pyproject.toml": '[project]\ndependencies = ["from-project"]'})
    assert lines_of(skill) == ("from-project",)
    assert lines_of(skill, "import six") == ("from-project",)
    assert lines_of(skill, SCRIPT) == ("six>=1",)


def test_a_declaration_that_says_nothing_of_packages_does_not_count(tmp_path: Path) -> None:
    skill = write_skill(
        tmp_path / "calc", {"requirements.txt": "six", "pyproject.toml": "[tool.ruff]\nline-length = 80"}
    )
    silent = '# /// script\n# requires-python = ">=3.8"\n# ///\n'
    assert lines_of(skill, silent) == ("six",)


def test_an_empty_declaration_asks_for_nothing(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {"requirements.txt": "six"})
    assert lines_of(skill, "# /// script\n# dependencies = []\n# ///\n") == ()


def test_a_skill_that_declares_nothing_wants_nothing(tmp_path: Path) -> None:
    assert lines_of(write_skill(tmp_path / "calc", {})) == ()


def test_inline_metadata_is_found_as_its_standard_says(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {})
    block = (
        '#!/usr/bin/env python\r\n# /// script\r\n# dependencies = [\r\n#   "six",\r\n#\r\n# ]\r\n# ///\r\nx = 1\r\n'
    )
    assert lines_of(skill, block) == ("six",)
    assert lines_of(skill, '# /// other\n# dependencies = ["six"]\n# ///\n') == ()
    assert lines_of(skill, 'x = """\n /// script\n"""\n# /// script\n# unclosed = 1\n') == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("dependencies = [", "not valid TOML"),
        ("dependencies = 'six'", "not a list"),
        ("dependencies = [1]", "not a list"),
        ("requires-python = 3", "not a string"),
        ("requires-python = 'new'", "not a version range"),
        ("requires-python = '>=99'", f"the worker has {platform.python_version()}"),
        ("dependencies = ['six=1']", "'six=1' is no requirement"),
        ("dependencies = ['six @ https://example.invalid/six-1.whl']", "by name"),
        ("dependencies = ['./six-1.0-py3-none-any.whl']", "by name"),
        ("dependencies = ['-r other.txt']", "is no requirement"),
        (r"dependencies = ['six\n--index-url http://example.invalid']".replace("'", '"'), "not one line"),
        (r"dependencies = ['six --hash=sha256:00\n-e /']".replace("'", '"'), "not one line"),
        ("dependencies = ['six --hash=sha256:00 -e /']", "no hash"),
        ("dependencies = ['six${HOME}']", "not expanded"),
    ],
)
def test_inline_metadata_that_cannot_be_used_is_an_error_with_the_reason(
    tmp_path: Path, content: str, expected: str
) -> None:
    message = problem_of(write_skill(tmp_path / "calc", {}), f"# /// script\n# {content}\n# ///\n")
    assert expected in message
    assert INLINE in message


def test_two_blocks_of_inline_metadata_are_an_error(tmp_path: Path) -> None:
    assert "more than one" in problem_of(write_skill(tmp_path / "calc", {}), SCRIPT + "\n" + SCRIPT)


@pytest.mark.parametrize("pyproject", ["project = 1", "[project", "[project]\nrequires-python = '<3'\n"])
def test_a_project_that_cannot_be_used_is_an_error(tmp_path: Path, pyproject: str) -> None:
    assert "pyproject.toml" in problem_of(write_skill(tmp_path / "calc", {"pyproject.toml": pyproject}))


def test_only_what_a_script_itself_asks_for_is_kept_to_wheels(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "calc", {"requirements.txt": "six"})
    from_script, from_file = wanted(skill, SCRIPT), wanted(skill, None)
    assert isinstance(from_script, Wanted)
    assert isinstance(from_file, Wanted)
    assert from_script.wheels_only
    assert not from_file.wheels_only


@pytest.mark.parametrize(
    ("line", "normal"),
    [
        ("Six", "six"),
        ("Foo_Bar.baz [b,a] >=1, <2", "foo-bar-baz[a,b]<2,>=1"),
        ("six ; python_version<'4'", 'six; python_version < "4"'),
        ("six==1 --hash=sha256:bb \t --hash=sha256:aa", "six==1 --hash=sha256:aa --hash=sha256:bb"),
    ],
)
def test_a_requirement_has_one_normal_form(line: str, normal: str) -> None:
    assert parsed(line) == normal


@pytest.mark.parametrize("line", ["six @ file:///tmp/six", "six @ git+file:///tmp/six", "../six", "/tmp/six", "."])
def test_a_requirement_from_the_machine_itself_is_refused(line: str) -> None:
    with pytest.raises(RequirementsError):
        parsed(line)


def test_a_requirements_file_is_read_as_pip_reads_it() -> None:
    text = (
        "# comment\r\n\r\nsix>=1  # why\n  packaging \\\n  >=20\n"
        "--extra-index-url https://example.invalid/simple\n--only-binary=:all:\n"
        "foo @ https://example.invalid/foo.zip#sha1=1\n"
    )
    assert parsed_lines(text) == [
        "six>=1",
        "packaging>=20",
        "--extra-index-url https://example.invalid/simple",
        "--only-binary :all:",
        "foo @ https://example.invalid/foo.zip#sha1=1",
    ]


@pytest.mark.parametrize(
    "line",
    ["-e .", "--editable ../x", "-r ../other.txt", "-r /etc/passwd", "--find-links /tmp", "-c limits.txt",
     "--index-url /srv/index", "-i file:///srv", "--pre ${HOME}", "-r missing.txt", "../a-1.0-py3-none-any.whl",
     "missing-1.0-py3-none-any.whl", "/tmp/a.zip"],
)  # fmt: skip
def test_what_leaves_the_skill_or_cannot_be_honoured_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "other.txt").write_text("six")
    (tmp_path / "a-1.0-py3-none-any.whl").write_bytes(b"")
    assert "requirements.txt" in problem_of(write_skill(tmp_path / "calc", {"requirements.txt": line}))


def test_a_requirements_file_that_is_a_symlink_out_of_the_skill_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("six")
    skill = write_skill(tmp_path / "calc", {})
    (skill.root / "requirements.txt").symlink_to("../other.txt")
    assert "not a path inside" in problem_of(skill)


def test_files_of_the_skill_may_include_each_other(tmp_path: Path) -> None:
    skill = write_skill(
        tmp_path / "calc",
        {
            "requirements.txt": "-r deps/a.txt\nzope",
            "deps/a.txt": "-r b.txt\nsix",
            "deps/b.txt": "--requirement=a.txt\npackaging",
        },
    )
    assert lines_of(skill) == ("packaging", "six", "zope")


def test_the_order_of_options_is_kept_and_that_of_requirements_is_not(tmp_path: Path) -> None:
    first, second = "-i https://b.invalid/", "--extra-index-url https://a.invalid/"
    skill = write_skill(tmp_path / "calc", {"requirements.txt": f"zope\n{first}\nsix\n{second}\nsix\n"})
    assert lines_of(skill) == (first, second, "six", "zope")


def test_an_archive_of_the_skill_counts_by_its_content(tmp_path: Path) -> None:
    files = {"deps/requirements.txt": "./x-1.0-py3-none-any.whl", "requirements.txt": "-r deps/requirements.txt"}
    skill = write_skill(tmp_path / "calc", {**files, "deps/x-1.0-py3-none-any.whl": b"one"})
    before = wanted(skill, None)
    assert isinstance(before, Wanted)
    assert before.lines == ((skill.root / "deps/x-1.0-py3-none-any.whl").as_uri(),)
    write_skill(tmp_path / "calc", {"deps/x-1.0-py3-none-any.whl": b"two"})
    assert wanted(skill, None) != before
