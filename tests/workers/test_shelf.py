"""The limit on what environments take on disk: who goes, and who stays."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
from tests.workers.archives import wheel
from tests.workers.environment_checks import built, leftovers, output, wait_until
from tests.workers.skill_folders import write_skill
from tests.workers.slow_skill import SlowSkill, builder_process

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.environments.shelf import BYTES, LAST_USED, Shelf
from skillfleet_workers.skills.models import Skill

WHEEL = "demo-1.0-py3-none-any.whl"
SIZE = 500_000
ROOM_FOR_TWO = 3 * SIZE

HOLD = """
import sys
from pathlib import Path
from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.models import Skill
with Environments(Path(sys.argv[1])).leased(Skill("calc", Path(sys.argv[2]))) as interpreter:
    print(interpreter, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)


@pytest.fixture
def skills(tmp_path: Path) -> Sequence[Skill]:
    """Each with an environment of its own, of about SIZE."""
    return [
        write_skill(
            tmp_path / f"s{n}",
            {"requirements.txt": WHEEL, WHEEL: wheel("demo", {"demo.py": f"x = {n}", "demo.bin": "x" * SIZE})},
        )
        for n in range(4)
    ]


def used_at(interpreter: Path, seconds: int) -> None:
    os.utime(interpreter.parents[1] / LAST_USED, (seconds, seconds))


def left(interpreters: Sequence[Path]) -> list[bool]:
    return [interpreter.exists() for interpreter in interpreters]


def test_the_least_recently_used_makes_room(tmp_path: Path, skills: Sequence[Skill]) -> None:
    environments = Environments(tmp_path / "e", max_bytes=ROOM_FOR_TWO)
    interpreters = [built(environments.interpreter_for(skill)) for skill in skills[:2]]
    assert left(interpreters) == [True, True]
    used_at(interpreters[0], 200)
    used_at(interpreters[1], 100)
    interpreters.append(built(environments.interpreter_for(skills[2])))
    assert left(interpreters) == [True, False, True]
    used_at(interpreters[0], 100)
    used_at(interpreters[2], 200)
    assert environments.interpreter_for(skills[0]) == interpreters[0], "which counts as use"
    interpreters.append(built(environments.interpreter_for(skills[3])))
    assert left(interpreters) == [True, False, False, True]
    assert not leftovers(tmp_path / "e")


def test_one_that_was_removed_is_built_again(tmp_path: Path, skills: Sequence[Skill]) -> None:
    environments = Environments(tmp_path / "e", max_bytes=1)
    first = built(environments.interpreter_for(skills[0]))
    environments.interpreter_for(skills[1])
    assert not first.exists()
    assert output(environments.interpreter_for(skills[0]), "import demo; print(demo.x)") == "0"


def test_one_that_a_run_uses_stays_and_goes_when_the_run_is_over(tmp_path: Path, skills: Sequence[Skill]) -> None:
    environments, other_worker = (Environments(tmp_path / "e", max_bytes=1) for _ in range(2))
    with environments.leased(skills[0]) as one, environments.leased(skills[0]) as same:
        other_worker.interpreter_for(skills[1])
        assert one == same
        assert output(one, "import demo; print(demo.x)") == "0"
    other_worker.interpreter_for(skills[2])
    assert not built(one).exists()


def test_one_that_another_process_uses_stays_until_it_is_killed(tmp_path: Path, skills: Sequence[Skill]) -> None:
    folder = tmp_path / "e"
    command = [sys.executable, "-c", HOLD, str(folder), str(skills[0].root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        interpreter = Path(holder.stdout.readline().strip())
        environments = Environments(folder, max_bytes=1)
        environments.interpreter_for(skills[1])
        assert holder.poll() is None
        assert interpreter.exists()
        holder.kill()
        holder.wait()
        environments.interpreter_for(skills[2])
        assert not interpreter.exists()


def test_one_larger_than_the_limit_still_serves_its_own_run(tmp_path: Path, skills: Sequence[Skill]) -> None:
    environments = Environments(tmp_path / "e", max_bytes=1)
    with environments.leased(skills[0]) as interpreter:
        assert output(interpreter, "import demo; print(demo.x)") == "0"


def test_what_uv_can_fetch_again_goes_before_any_environment(tmp_path: Path, skills: Sequence[Skill]) -> None:
    folder = tmp_path / "e"
    interpreter = built(Environments(folder).interpreter_for(skills[0]))
    fetched = folder / ".uv-cache" / "archive-v0" / "stale"
    fetched.mkdir(parents=True)
    (fetched / "package").write_bytes(b"x" * 4 * SIZE)
    Environments(folder, max_bytes=4 * SIZE).interpreter_for(skills[1])
    assert not fetched.exists()
    assert interpreter.exists()


def test_a_cache_that_the_operator_placed_elsewhere_is_left_alone(
    tmp_path: Path, skills: Sequence[Skill], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    Environments(tmp_path / "e", max_bytes=1).interpreter_for(skills[0])
    assert list((tmp_path / "cache" / "archive-v0").iterdir())
    assert not (tmp_path / "e" / ".uv-cache").exists()


def test_a_size_is_measured_once_and_lost_ones_again(tmp_path: Path, skills: Sequence[Skill]) -> None:
    folder = tmp_path / "e"
    sizes = [built(Environments(folder).interpreter_for(skill)).parents[1] / BYTES for skill in skills[:2]]
    assert SIZE < int(sizes[0].read_text()) < 2 * SIZE
    sizes[0].write_text("7")
    sizes[1].write_text("")
    Shelf(folder, 10 * SIZE).make_room(Event())
    assert sizes[0].read_text() == "7"
    assert int(sizes[1].read_text()) > SIZE


def test_what_a_killed_builder_left_goes_with_the_next_build_of_any_skill(
    tmp_path: Path, skills: Sequence[Skill], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, folder = SlowSkill(tmp_path), tmp_path / "e"
    with builder_process(folder, slow.skill) as builder:
        wait_until(lambda: slow.builders)
        Environments(folder).interpreter_for(skills[0])
        assert builder.poll() is None
        assert leftovers(folder), "what is being built stays"
        builder.kill()
    assert leftovers(folder)
    Environments(folder).interpreter_for(skills[1])
    assert not leftovers(folder)


def test_a_folder_that_cannot_be_written_to_serves_what_it_holds(tmp_path: Path, skills: Sequence[Skill]) -> None:
    """Root writes where it likes, but no file can be made below what is a file."""
    folder = tmp_path / "e"
    interpreter = built(Environments(folder).interpreter_for(skills[0]))
    (folder / ".in-use").rename(tmp_path / "gone")
    (folder / ".in-use").touch()
    with ExitStack() as runs:
        assert [runs.enter_context(Environments(folder).leased(skills[0])) for _ in range(2)] == [interpreter] * 2
