"""The image that tests' containers are made of, built from the base image that is at hand."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.system.docker_engine import find_images

DOCKERFILE = Path(__file__).parents[1] / "deploy" / "skill-runtime.Dockerfile"


def engine_answers() -> bool:
    return bool(shutil.which("docker")) and subprocess.run(["docker", "version"], capture_output=True).returncode == 0


def runtime_image() -> str:
    """Its name, whether or not there is an engine to have it."""
    if not engine_answers():
        return "skillfleet-runtime"
    base = find_images().base
    name = f"skillfleet-runtime:{hashlib.sha256(DOCKERFILE.read_bytes() + base.encode()).hexdigest()[:16]}"
    if subprocess.run(["docker", "image", "inspect", name], capture_output=True).returncode != 0:
        build = ["docker", "build", "--quiet", "--build-arg", f"BASE_IMAGE={base}", "--tag", name, "-"]
        subprocess.run(build, input=DOCKERFILE.read_bytes(), capture_output=True, check=True)
    return name
