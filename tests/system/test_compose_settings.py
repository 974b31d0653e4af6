"""docker-compose.yml and .env.example know every setting there is, and miss no required one in silence."""

import shutil
from pathlib import Path

import pytest
import yaml
from pydantic_settings import BaseSettings
from tests.system.docker_engine import ROOT, Compose, unavailable, write_env_file

from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.settings import WorkerSettings

# The images set the state folder; an orchestrator mounts no skills.
NOT_FOR_COMPOSE = {"SKILLFLEET_STATE_DIR"}
NOT_FOR_AN_ORCHESTRATOR = NOT_FOR_COMPOSE | {"SKILLS_FOLDER_PATH"}
REQUIRED = {"REDIS_PASSWORD": "secret", "FLOWER_BASIC_AUTH": "someone:secret"}


def _names(settings: type[BaseSettings]) -> set[str]:
    return {str(field.validation_alias) for field in settings.model_fields.values()}


def _passed_to(service: str) -> set[str]:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return set(compose["services"][service]["environment"])


def test_compose_passes_every_setting_to_the_service_that_reads_it() -> None:
    assert _names(OrchestratorSettings) - NOT_FOR_AN_ORCHESTRATOR <= _passed_to("orchestrator")
    assert _names(WorkerSettings) - NOT_FOR_COMPOSE <= _passed_to("worker")


def test_both_sides_of_compose_share_the_artifact_store() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services = [compose["services"][name] for name in ("orchestrator", "worker")]
    (url,) = {service["environment"]["SKILLFLEET_ARTIFACTS_URL"] for service in services}
    folder = url.rpartition("file://")[2].rstrip("}")
    assert all(f"artifacts:{folder}" in service["volumes"] for service in services)
    assert f"--mode 0700 {folder}\n" in (ROOT / "deploy/Dockerfile").read_text()


def test_the_env_example_shows_every_setting() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    shown = {line.removeprefix("# ").partition("=")[0] for line in lines if "=" in line}
    assert _names(OrchestratorSettings) | _names(WorkerSettings) | set(REQUIRED) <= shown


def _config(folder: Path, values: dict[str, str]) -> tuple[int, str]:
    if not shutil.which("docker-compose") and not shutil.which("docker"):
        unavailable("docker-compose is not installed")
    done = Compose("skillfleet-config", write_env_file(folder / "env", values)).run("config")
    return done.returncode, done.stdout + done.stderr


def test_compose_needs_nothing_but_the_two_passwords(tmp_path: Path) -> None:
    code, output = _config(tmp_path, REQUIRED)
    assert code == 0, output


@pytest.mark.parametrize("name", REQUIRED)
def test_compose_names_the_password_that_is_missing(tmp_path: Path, name: str) -> None:
    code, output = _config(tmp_path, {**REQUIRED, name: ""})
    assert code != 0
    assert f"set {name} in .env" in output
