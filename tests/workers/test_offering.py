"""What a worker offers of its skills, after what their calls came to."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.workers.skill_folders import write_skill
from tests.workers.toolboxes import context, toolbox_in

from skillfleet_workers.offering import Offering
from skillfleet_workers.skills.breaker import BROKE_TO_OPEN
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.eligibility import Host
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.overrides import Overrides
from skillfleet_workers.wire.contract import RunSkillScript, ToolError
from skillfleet_workers.wire.execution import ScriptExecution

TIMED_OUT = ScriptExecution(status="timed_out", timeout=1.0)
OLD, NEW = "lab@1.0.0", "lab@2.0.0"


class Shop:
    """A worker with two versions of one skill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "skills"
        for name in (OLD, NEW):
            self.write(name)
        self.catalog = SkillCatalog(self.folder)
        host = Host(which=lambda _: None, environ={}, platform="linux")
        self.offering = Offering(self.catalog, Overrides(folder / "skills.yaml"), host)
        self.offering.snapshot()

    def write(self, folder: str, says: str = "") -> None:
        name, _, version = folder.partition("@")
        text = f"---\nname: {name}\ndescription: It.\nversion: {version}\n---\n{says}\n"
        write_skill(self.folder / folder, {"SKILL.md": text})

    def skill(self, name: str) -> Skill:
        found = self.catalog.find(name)
        assert isinstance(found, Skill)
        return found

    def digest(self, name: str) -> str:
        return self.catalog.digest_of(self.skill(name))

    def breaks(self, name: str, digest: str = "") -> None:
        for _ in range(BROKE_TO_OPEN):
            assert self.call(name, digest) is None

    def call(self, name: str, digest: str = "") -> ToolError | None:
        """It times out, unless it is refused."""
        with self.offering.run(self.skill(name), digest, own_script=True, own_environment=True) as told:
            if isinstance(told, ToolError):
                return told
            told(TIMED_OUT)
        return None


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_skill_that_breaks_is_refused_until_its_files_change(shop: Shop) -> None:
    shop.breaks(NEW)
    assert (refused := shop.call("lab")) is not None and refused.error == "skill_unavailable"
    assert shop.offering.health() == {"lab": "temporaryFailure"}
    shop.write(NEW, "Mended.")
    shop.offering.snapshot()
    assert shop.call("lab") is None


def test_a_version_that_breaks_takes_no_other_version_with_it(shop: Shop) -> None:
    shop.breaks(OLD)
    assert shop.call(NEW) is None and shop.call("lab") is None
    assert (refused := shop.call(OLD)) is not None
    assert "'lab@1.0.0'" in refused.message
    assert shop.offering.health() == {OLD: "temporaryFailure"}


def test_a_state_that_some_conversations_keep_to_tells_nothing_of_the_mended_one(shop: Shop) -> None:
    before = shop.digest(NEW)
    shop.write(NEW, "Mended.")
    shop.offering.snapshot()
    shop.breaks(NEW, before)
    assert shop.offering.health() == {}
    shop.breaks(NEW, shop.digest(NEW))
    assert shop.offering.health() == {"lab": "temporaryFailure"}


@pytest.mark.parametrize(("limit_s", "state"), [(None, {}), (1, {"slow": "temporaryFailure"})])
def test_only_who_gives_a_script_its_own_time_learns_that_it_takes_too_long(
    tmp_path: Path, limit_s: int | None, state: dict[str, str]
) -> None:
    text = "---\nname: slow\ndescription: It.\n" + (f"timeout: {limit_s}\n" if limit_s else "") + "---\n"
    write_skill(tmp_path / "skills" / "slow", {"SKILL.md": text, "scripts/work.sh": "sleep 600\n"})
    host = Host(which=lambda _: None, environ={}, platform="linux")
    with toolbox_in(tmp_path) as (toolbox, catalog):
        offering = Offering(catalog, Overrides(tmp_path / "skills.yaml"), host)
        serving = replace(toolbox, offering=offering)
        for _ in range(BROKE_TO_OPEN):
            run = serving.run_script(RunSkillScript(skill_name="slow", script="work", timeout=1), context())
            assert isinstance(run, ScriptExecution) and run.timed_out
        assert offering.health() == state
