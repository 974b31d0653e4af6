"""What a machine sets for single skills: read whenever it changes, written without losing anything."""

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Require

from skillfleet_workers.skills.override_file import Override, OverrideFileError, overrides_in, with_enabled
from skillfleet_workers.skills.overrides import BROKEN, Overrides, set_enabled
from skillfleet_workers.skills.problems import Problem

SECRET = "s3cr3t-value"
TURN_OFF = """
import sys
from pathlib import Path
from skillfleet_workers.skills.overrides import set_enabled
for number in range(8):
    assert set_enabled(Path(sys.argv[1]), f"{sys.argv[2]}-{number}", False) is None
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "skills.yaml"


def written(path: Path, text: str | bytes) -> Overrides:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Overrides(path)


def test_a_skill_that_nothing_is_set_for_is_as_it_is(path: Path) -> None:
    assert Overrides(path).of("a") == Override(enabled=True, env={}, config={})
    assert written(path, "").of("a") == Override()
    assert written(path, "skills:\n  a:\n  b: {env: , config: }\n").of("b") == Override()
    assert Overrides(path).problem is None


def test_variables_are_the_text_that_was_written_and_configuration_is_typed(path: Path) -> None:
    text = "skills: {a: {env: {PIN: 0123, AT: 12:30, ON: yes, NO: }, config: {n: 3, deep: {on: true}}}}"
    override = written(path, text).of("a")
    assert override.env == {"PIN": "0123", "AT": "12:30", "ON": "yes", "NO": ""}
    assert override.config == {"n": 3, "deep": {"on": True}}


def test_a_change_counts_at_once(path: Path) -> None:
    overrides = written(path, "skills: {a: {enabled: false}}")
    assert not overrides.of("a").enabled
    written(path, "skills: {a: {enabled: true}}")
    assert overrides.of("a").enabled
    set_enabled(path, "a", False)
    assert not overrides.of("a").enabled
    path.unlink()
    assert overrides.of("a").enabled


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("skills: [", "no YAML that can be read, at line 1"),
        ("--- {}\n--- {}\n", "no YAML that can be read, at line 2"),
        (b"skills: {a: {env: {A: \xff}}}", "not UTF-8"),
        ("[" * 1000, "nested too deep"),
        ("- a", "it is no list of 'key: value' lines"),
        ("skills: 3", "skills is no list"),
        ("skills: {a: off}", "skills.a is no list"),
        ("skills: {a: {enabled: flase}}", "skills.a.enabled is neither true nor false"),
        ("skills: {a: {enable: false}}", "skills.a.enable is none of the settings"),
        ("skills: {a: {env: {A: [1]}}}", "skills.a.env.A is no text"),
        ("skills: {a: {env: {A-B: x}}}", "'A-B', which is no name of a variable"),
        ("skills: {a: {env: {LLM_API_KEY: x}}}", "LLM_API_KEY, which is never given to a skill"),
        ("skills: {a: {env: {SKILLFLEET_REDIS_URL: x}}}", "SKILLFLEET_REDIS_URL, which is never given"),
        ('skills: {a: {env: {A: "x\\0y"}}}', "A with what no variable can hold"),
        ('skills: {a: {env: {A: "\\ud800"}}}', "A with what no variable can hold"),
        ("skills: {a: {config: &x {y: *x}}}", "holds itself"),
        ("skills: {a: {config: {d: 2024-01-01}}}", "not a valid JSON value"),
        ("skills: {a: {config: {d: !!timestamp x}}}", "holds a value that cannot be read"),
        ("skills: {a: {config: {d: !!bool x}}}", "holds a value that cannot be read"),
        ("skills: {a: !!python/object:os.system x}", "no YAML that can be read"),
    ],
)
def test_a_broken_file_is_a_problem_and_what_was_read_before_holds(path: Path, text: str | bytes, why: str) -> None:
    overrides = written(path, "skills: {a: {enabled: false}, b: {env: {KEY: x}}}")
    assert overrides.problem is None
    written(path, text)
    assert not overrides.of("a").enabled
    assert overrides.of("b").env == {"KEY": "x"}
    problem = overrides.problem
    assert problem is not None and problem.code == BROKEN and why in problem.message
    written(path, "")
    assert overrides.problem is None and overrides.of("a").enabled


def test_what_cannot_be_read_from_the_start_turns_everything_off(path: Path) -> None:
    override = written(path, "skills: [").of("a")
    assert not override.enabled and "cannot be used" in override.reason


def test_something_that_is_no_file_is_a_problem(path: Path) -> None:
    path.mkdir(parents=True)
    problem = Overrides(path).problem
    assert problem is not None and "it is no file" in problem.message


@pytest.mark.parametrize(
    "text", ["env: {LLM_X: %s}", "env: {A: [%s]}", "env: {A: '%s", "enabled: %s", "config: {d: !!int %s}"]
)
def test_no_secret_is_told(path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        overrides = written(path, f"skills:\n  a: {{{text % SECRET}}}")
        problem = overrides.problem
        assert problem is not None
        good = written(path, f"skills: {{a: {{env: {{A: {SECRET}}}, config: {{b: {SECRET}}}}}}}").of("a")
    assert SECRET not in f"{problem}{problem.as_json()}{good!r}{good}{caplog.text}"
    assert "skills.yaml" in caplog.text


def test_turning_a_skill_off_and_on_keeps_the_rest(path: Path) -> None:
    written(path, "skills: {a: {env: {PIN: 0123}, config: {n: 1.50}}, b: {reason: broken, enabled: no}}")
    before = Overrides(path).of("b")
    assert set_enabled(path, "a", False) is None
    off = Overrides(path).of("a")
    assert set_enabled(path, "a", True) is None
    on = Overrides(path).of("a")
    assert (off.enabled, off.enabled_at) == (False, None)
    assert on.enabled and on.enabled_at is not None
    assert on.env == off.env == {"PIN": "0123"} and on.config == off.config == {"n": 1.5}
    assert Overrides(path).of("b") == before


def test_turning_a_skill_on_again_is_told_from_the_time_before(path: Path) -> None:
    assert set_enabled(path, "a", True) is None
    first = Overrides(path).of("a").enabled_at
    while Overrides(path).of("a").enabled_at == first:
        assert set_enabled(path, "a", True) is None


def test_the_file_is_for_the_eyes_of_its_owner_and_a_link_to_it_stays(path: Path, tmp_path: Path) -> None:
    written(path, "skills: {a: {env: {KEY: x}}}")
    path.chmod(0o644)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    assert set_enabled(link, "a", False) is None
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not Overrides(path).of("a").enabled
    assert sorted(file.name for file in path.parent.iterdir()) == ["skills.yaml", "skills.yaml.lock"]


@pytest.mark.parametrize("there", [True, False])
def test_what_root_writes_belongs_to_the_workers_user(path: Path, require: Require, there: bool) -> None:
    require(os.geteuid() == 0, "root")
    written(path, "")
    os.chown(path if there else path.parent, 12_345, 12_345)
    if not there:
        path.unlink()
    assert set_enabled(path, "a", False) is None
    assert [file.stat().st_uid for file in path.parent.iterdir()] == [12_345] * 2


def test_a_broken_file_is_not_written_over(path: Path) -> None:
    written(path, "skills: [")
    problem = set_enabled(path, "a", False)
    assert isinstance(problem, Problem) and problem.severity == "error"
    assert path.read_text() == "skills: ["


def test_writers_side_by_side_lose_nothing(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen([sys.executable, "-c", TURN_OFF, str(path), name], env=environment)
        for name in ("x", "y", "z")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    overrides = Overrides(path)
    assert not [name for name in "xyz" for number in range(8) if overrides.of(f"{name}-{number}").enabled]


NAMES = st.sampled_from(["a", "b", "0123", "yes", "ü", "a: b", "null"])
TEXTS = st.text("aé0: '\"{}[]#&*!,\n\t😀", max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "env": st.dictionaries(st.sampled_from(["A", "B_2"]), TEXTS),
        "config": st.dictionaries(TEXTS, VALUES, max_size=3),
    },
)


@given(st.dictionaries(NAMES, ENTRIES, max_size=3), NAMES, st.booleans())
def test_only_what_was_asked_for_changes(skills: dict[str, dict[str, object]], name: str, enabled: bool) -> None:
    text = yaml.safe_dump({"skills": skills}, allow_unicode=True)
    before = overrides_in(text)
    after = overrides_in(with_enabled(text, name, 12.5 if enabled else None))
    expected = before.get(name, Override()).model_copy(
        update={"enabled": enabled, "enabled_at": 12.5 if enabled else None}
    )
    assert after == {**before, name: expected}


def test_what_an_alias_stands_for_is_not_changed_with_it() -> None:
    text = "skills: {a: &x {env: {A: b}, enabled: true}, b: *x}"
    after = overrides_in(with_enabled(text, "b", None))
    assert (after["a"].enabled, after["b"].enabled) == (True, False)
    assert after["a"].env == after["b"].env == {"A": "b"}


@given(st.text(alphabet="{}[]&*!|>'\"%@`,:-?# \n\tabskile", max_size=60))
def test_no_text_can_break_the_reader(text: str) -> None:
    try:
        overrides_in(text)
    except OverrideFileError as wrong:
        assert str(wrong)
