"""The fleet of docker-compose.yml, for real: images built, two workers, conversations through them."""

import base64
import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.system.docker_engine import ROOT, Compose, find_images, require_engine, write_env_file

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]

WORKERS = ("1", "2")
FLOWER_AUTH = "someone:" + uuid.uuid4().hex
MODEL_KEY = "sk-seen-by-the-orchestrator-only"
ALIVE = ("python3", "/opt/skillfleet/alive.py")
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _write_skill(folder: Path, name: str, requirements: str = "") -> None:
    folder.joinpath(name).mkdir(parents=True)
    folder.joinpath(name).chmod(0o777)  # Whatever stops a worker from writing, it is not the file's mode.
    skill = f"---\nname: {name}\ndescription: For the fleet's own test.\n---\nWrite Python.\n"
    folder.joinpath(name, "SKILL.md").write_text(skill)
    if requirements:
        folder.joinpath(name, "requirements.txt").write_text(requirements)


@pytest.fixture(scope="module")
def flower_port() -> int:
    return _free_port()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, flower_port: int) -> Iterator[Compose]:
    require_engine()
    images = find_images()
    folder = tmp_path_factory.mktemp("compose")
    _write_skill(folder / "skills", "calculator")
    _write_skill(folder / "skills", "tables", "tabulate==0.9.0\n")
    values = {
        "REDIS_PASSWORD": uuid.uuid4().hex,
        "FLOWER_BASIC_AUTH": FLOWER_AUTH,
        "FLOWER_PORT": str(flower_port),
        "LLM_API_KEY": MODEL_KEY,
        "SKILLS_FOLDER_PATH": str(folder / "skills"),
        "SKILLFLEET_WORKER_CONCURRENCY": "1",
        "BASE_IMAGE": images.base,
        "REDIS_IMAGE": images.redis,
        "SKILLFLEET_TAG": "test",
    }
    compose = Compose(f"skillfleet-test-{uuid.uuid4().hex[:8]}", write_env_file(folder / "env", values))
    try:
        compose.output("build", timeout=900)
        compose.output("up", "-d", "--scale", f"worker={len(WORKERS)}")
        for index in WORKERS:
            _until_alive(compose, "--index", index, "worker")
        _until_alive(compose, "orchestrator")
        yield compose
    finally:
        compose.run("down", "--volumes", "--remove-orphans", "--timeout", "5")
        assert not compose.remains()


def _until_alive(fleet: Compose, *container: str) -> None:
    deadline = time.monotonic() + 60
    while fleet.run("exec", "-T", *container, *ALIVE).returncode != 0:
        if time.monotonic() > deadline:
            fleet.output("exec", "-T", *container, *ALIVE)
        time.sleep(0.2)


def _converse(fleet: Compose, skill: str, scripts: list[str]) -> dict[str, Any]:
    """One conversation whose model asks for all scripts at once, then quotes what the first of them printed."""
    calls = [
        {"tool": "run_python_script", "arguments": {"skill_name": skill, "script": script}, "as": f"c{number}"}
        for number, script in enumerate(scripts)
    ]
    replies = [{"text": "Looking.", "calls": calls}, {"text": "The answer is ${c0.stdout}"}]
    file = f"/tmp/{uuid.uuid4().hex}.yaml"
    fleet.output("exec", "-T", "orchestrator", "sh", "-c", f"cat > {file}", stdin=json.dumps({"replies": replies}))
    submit = ("skillfleet", "submit", "--json", "--model", f"scripted:{file}", "What is the answer?")
    report = json.loads(fleet.output("exec", "-T", "orchestrator", *submit))
    assert isinstance(report, dict)
    return report


def test_two_workers_share_the_calls_of_a_conversation(fleet: Compose) -> None:
    # A worker runs one call at a time here, so that six sleeping ones are not all taken by the quicker worker.
    report = _converse(fleet, "calculator", ["import time; time.sleep(1); print(6 * 7)"] * 6)

    assert report["status"] == "completed"
    assert report["answer"].strip() == "The answer is 42"
    assert [call["status"] for call in report["tool_calls"]] == ["succeeded"] * 6
    assert len({call["worker"] for call in report["tool_calls"]}) == len(WORKERS)


def test_a_skill_gets_its_packages_though_the_root_is_read_only(fleet: Compose) -> None:
    report = _converse(fleet, "tables", ["import tabulate; print(tabulate.__version__)"])

    assert report["answer"].strip() == "The answer is 0.9.0"


def _isolations(fleet: Compose) -> set[str]:
    """What the results in the backend say of themselves."""
    ask = ("exec", "-T", "redis", "redis-cli", "-n", "1")
    keys = [key for key in fleet.output(*ask, "--scan").splitlines() if "task-meta" in key]
    results = [json.loads(fleet.output(*ask, "get", key))["result"] for key in keys]
    return {result["isolation"] for result in results if "isolation" in result}


def _strongest(doctor: str) -> str:
    return str(next(line["detail"] for line in json.loads(doctor) if line["what"].endswith(" demanded")))


def test_a_script_is_held_by_its_workers_container_and_its_result_says_so(fleet: Compose) -> None:
    assert _converse(fleet, "calculator", ["print(1)"])["status"] == "completed"
    assert _isolations(fleet) == {"process"}
    assert "at most process here" in _strongest(
        fleet.run("exec", "-T", "worker", "skillfleet", "doctor", "--json").stdout
    )


STORE = "from skillfleet_workers.wire.store import *; from skillfleet_workers.wire.connection import *; "
STORE += "store = ArtifactStore.of(load_settings(FleetSettings)); "


def test_what_one_side_puts_into_the_artifact_store_the_other_reads(fleet: Compose) -> None:
    for writer, reader in (("orchestrator", "worker"), ("worker", "orchestrator")):
        put = f"{STORE}print(store.put_bytes({writer.encode()!r}, 'a').digest)"
        digest = fleet.output("exec", "-T", writer, "python3", "-c", put).strip()
        read = f"{STORE}print(store.read({digest!r}))"
        assert fleet.output("exec", "-T", reader, "python3", "-c", read).strip() == repr(writer.encode())


def test_a_worker_with_the_options_of_the_readme_has_the_sandbox(fleet: Compose, tmp_path: Path) -> None:
    (options,) = re.findall(r"^--security-opt .*$", (ROOT / "deploy" / "README.md").read_text(), re.MULTILINE)
    hardened = "--rm --init --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp:mode=1777,exec"
    place = "--tmpfs /var/lib/skillfleet:uid=10001,gid=10001,mode=0700,exec"
    _write_skill(tmp_path / "skills", "calculator")
    tmp_path.chmod(0o755)
    run = ["docker", "run", *hardened.split(), *place.split(), "--volume", f"{tmp_path / 'skills'}:/skills:ro"]
    doctor = ("skillfleet-worker:test", "doctor", "--json")
    held: dict[str, list[str]] = {"sandbox": options.split(), "process": []}
    for strongest, more in held.items():
        done = subprocess.run([*run, *more, *doctor], capture_output=True, text=True, check=False)
        assert f"at most {strongest} here" in _strongest(done.stdout)


def test_flower_shows_nothing_without_its_password(fleet: Compose, flower_port: int) -> None:
    url = f"http://127.0.0.1:{flower_port}/api/workers"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url)
    assert refused.value.code == 401
    basic = base64.b64encode(FLOWER_AUTH.encode()).decode()
    allowed = urllib.request.Request(url, headers={"Authorization": f"Basic {basic}"})
    with urllib.request.urlopen(allowed) as answer:
        assert answer.status == 200


def test_the_models_key_reaches_the_orchestrator_and_no_worker(fleet: Compose) -> None:
    assert MODEL_KEY in fleet.output("exec", "-T", "orchestrator", "env")
    for index in WORKERS:
        seen = fleet.output("exec", "-T", "--index", index, "worker", "env")
        assert "SKILLFLEET_REDIS_URL" in seen
        assert "LLM_" not in seen


def test_a_worker_reaches_redis_but_not_flower(fleet: Compose) -> None:
    flower = fleet.output("exec", "-T", "flower", "hostname", "-i").split()[0]
    fleet.output("exec", "-T", "orchestrator", "python3", "-c", CONNECT, flower, "5555")
    fleet.output("exec", "-T", "worker", "python3", "-c", CONNECT, "redis", "6379")
    assert fleet.run("exec", "-T", "worker", "python3", "-c", CONNECT, flower, "5555").returncode != 0


@pytest.mark.parametrize("service", ["redis", "orchestrator", "worker", "flower"])
def test_a_service_has_no_root_no_capability_and_no_writable_root(fleet: Compose, service: str) -> None:
    status = fleet.output("exec", "-T", service, "cat", "/proc/1/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert "0" not in fields["Uid"].split()
    assert int(fields["CapEff"], 16) == int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    mounts = [line.split() for line in fleet.output("exec", "-T", service, "cat", "/proc/mounts").splitlines()]
    assert [options.split(",")[0] for _, place, _, options, *_ in mounts if place == "/"] == ["ro"]


def test_redis_refuses_strangers_and_keeps_what_it_accepted(fleet: Compose) -> None:
    stranger = fleet.output("exec", "-T", "redis", "sh", "-c", "unset REDISCLI_AUTH; redis-cli ping")
    assert "NOAUTH" in stranger
    for setting, value in {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}.items():
        assert value in fleet.output("exec", "-T", "redis", "redis-cli", "config", "get", setting).split()


def test_the_skills_are_read_only_for_a_worker(fleet: Compose) -> None:
    fleet.output("exec", "-T", "worker", "test", "-f", "/skills/calculator/SKILL.md")
    assert fleet.run("exec", "-T", "worker", "touch", "/skills/calculator/planted").returncode != 0


def test_a_container_without_a_process_of_the_fleet_is_not_healthy(fleet: Compose) -> None:
    python, script = ALIVE
    alone = fleet.run("run", "--rm", "-T", "--no-deps", "--entrypoint", python, "worker", script)
    assert alone.returncode == 1, alone.stderr
    assert "Traceback" not in alone.stderr
