from pathlib import Path

import pytest
from tests.workers.shipped_skills.bench import NAMES, SKILLS, Bench

from skillfleet_workers.environments.build import Environments
from skillfleet_workers.skills.catalog import SkillCatalog
from skillfleet_workers.skills.models import Skill


@pytest.fixture(scope="session")
def interpreters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    catalog, environments = SkillCatalog(SKILLS), Environments(tmp_path_factory.mktemp("environments"))
    found = {}
    for name in NAMES:
        skill = catalog.find(name)
        assert isinstance(skill, Skill)
        interpreter = environments.interpreter_for(skill)
        assert isinstance(interpreter, Path), interpreter
        found[name] = interpreter
    return found


@pytest.fixture
def bench(interpreters: dict[str, Path], tmp_path: Path) -> Bench:
    output, home = tmp_path / "output", tmp_path / "home"
    output.mkdir()
    home.mkdir()
    return Bench(interpreters, output, home)
