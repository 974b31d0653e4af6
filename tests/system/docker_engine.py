"""The Docker engine that system tests use, its images, and a compose project of their own."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCAL_BASE, LOCAL_REDIS = "skillfleet-base:local", "skillfleet-redis:local"
PUBLIC_BASE, PUBLIC_REDIS = "python:3.12-slim", "redis:7.4-alpine"
BUILD_TIMEOUT_S = 900


def _docker(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=timeout, check=False)


def _compose_command() -> tuple[str, ...] | None:
    if _docker("compose", "version").returncode == 0:
        return ("docker", "compose")
    return ("docker-compose",) if shutil.which("docker-compose") else None


def _missing() -> str | None:
    if not shutil.which("docker"):
        return "docker is not installed"
    if _docker("version").returncode != 0:
        return "no Docker engine answers (tests/system/start-docker.sh starts one)"
    return None if _compose_command() else "neither `docker compose` nor docker-compose is installed"


def unavailable(reason: str) -> None:
    """Skip the test, but fail it in CI: there, what it needs is part of the machine."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


def require_engine() -> None:
    if reason := _missing():
        unavailable(reason)


@dataclass(frozen=True, slots=True)
class Images:
    base: str
    redis: str

    @property
    def present(self) -> bool:
        return _docker("image", "inspect", self.base, self.redis).returncode == 0

    def pull(self) -> bool:
        try:
            return all(_docker("pull", name, timeout=300).returncode == 0 for name in (self.base, self.redis))
        except subprocess.TimeoutExpired:
            return False


def find_images() -> Images:
    """What the environment names, else what is here, else what can be pulled, else made (in a minute)."""
    named = os.environ.get("SKILLFLEET_TEST_BASE_IMAGE"), os.environ.get("SKILLFLEET_TEST_REDIS_IMAGE")
    public, local = Images(PUBLIC_BASE, PUBLIC_REDIS), Images(LOCAL_BASE, LOCAL_REDIS)
    if any(named):
        return Images(named[0] or PUBLIC_BASE, named[1] or PUBLIC_REDIS)
    if public.present:
        return public
    if local.present:
        return local
    if public.pull():
        return public
    if not shutil.which("debootstrap") or os.geteuid() != 0:
        unavailable("no image can be pulled, and making one needs debootstrap and root")
    script = ROOT / "deploy" / "local-images.sh"
    subprocess.run([script, local.base, local.redis], check=True, timeout=BUILD_TIMEOUT_S)
    return local


@dataclass(frozen=True, slots=True)
class Compose:
    """One compose project. It sees `env_file` and nothing of the developer's own settings."""

    project: str
    env_file: Path

    def run(self, *arguments: str, stdin: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
        own = {name: value for name, value in os.environ.items() if _belongs_to_docker(name)}
        command = _compose_command() or ("docker-compose",)
        options = ("--project-name", self.project, "--env-file", str(self.env_file))
        return subprocess.run(
            [*command, *options, *arguments],
            cwd=ROOT, env=own, input=stdin, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def output(self, *arguments: str, stdin: str = "", timeout: float = 120) -> str:
        """Its stdout; the test fails when the command does, and shows what the services said."""
        done = self.run(*arguments, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            logs = self.run("logs", "--no-color", "--tail", "50").stdout
            pytest.fail(f"{arguments} exited {done.returncode}\n{done.stdout}\n{done.stderr}\n{logs}")
        return done.stdout

    def remains(self) -> list[str]:
        """Every container, volume and network that still carries the project's label."""
        label = f"label=com.docker.compose.project={self.project}"
        kinds = (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        return [line for kind in kinds for line in _docker(*kind, "-q", "--filter", label).stdout.split()]


def _belongs_to_docker(name: str) -> bool:
    return name in ("PATH", "HOME") or name.startswith(("DOCKER_", "XDG_"))


def write_env_file(path: Path, values: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    return path
