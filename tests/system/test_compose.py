"""The fleet of docker-compose.yml, for real: images built, two workers, a conversation through them."""

import base64
import json
import socket
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator

import pytest
from tests.system.docker_engine import Compose, find_images, require_engine, write_env_file

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1500)]

SKILL = """---
name: calculator
description: Arithmetic for the fleet's own test.
---
Write Python.
"""

# Each call sleeps, and a worker runs one at a time: six of them are too many for either worker alone.
CONVERSATION = """
replies:
  - text: Looking.
    calls:
{calls}
  - text: "The answer is ${{c0.stdout}}"
"""
CALL = """      - tool: run_python_script
        as: c{n}
        arguments: {{skill_name: calculator, script: "import time; time.sleep(1); print(6 * 7)"}}
"""
CALLS = 6
FLOWER_AUTH = "someone:" + uuid.uuid4().hex
MODEL_KEY = "sk-seen-by-the-orchestrator-only"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def flower_port() -> int:
    return _free_port()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, flower_port: int) -> Iterator[Compose]:
    require_engine()
    images = find_images()
    folder = tmp_path_factory.mktemp("compose")
    skill = folder / "skills" / "calculator"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
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
        compose.output("up", "-d", "--scale", "worker=2")
        yield compose
    finally:
        compose.run("down", "--volumes", "--remove-orphans", "--timeout", "5")
        assert not compose.remains()


def _put(fleet: Compose, path: str, text: str) -> None:
    fleet.output("exec", "-T", "orchestrator", "sh", "-c", f"cat > {path}", stdin=text)


def test_a_conversation_submitted_in_a_container_is_answered_by_two_workers(fleet: Compose) -> None:
    calls = "".join(CALL.format(n=n) for n in range(CALLS))
    _put(fleet, "/tmp/conversation.yaml", CONVERSATION.format(calls=calls))

    submit = (
        "skillfleet",
        "submit",
        "--json",
        "--model",
        "scripted:/tmp/conversation.yaml",
        "How much is 6 * 7?",
    )
    record = json.loads(fleet.output("exec", "-T", "orchestrator", *submit))

    assert record["status"] == "completed"
    assert record["answer"].strip() == "The answer is 42"
    assert len(record["tool_calls"]) == CALLS
    assert len({call["worker"] for call in record["tool_calls"]}) == 2


def test_flower_shows_nothing_without_its_password(fleet: Compose, flower_port: int) -> None:
    url = f"http://127.0.0.1:{flower_port}/api/workers"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url)
    assert refused.value.code == 401
    basic = base64.b64encode(FLOWER_AUTH.encode()).decode()
    with urllib.request.urlopen(
        urllib.request.Request(url, headers={"Authorization": f"Basic {basic}"})
    ) as answer:
        assert answer.status == 200


def test_the_models_key_reaches_the_orchestrator_and_no_worker(fleet: Compose) -> None:
    assert MODEL_KEY in fleet.output("exec", "-T", "orchestrator", "env")
    for index in ("1", "2"):
        seen = fleet.output("exec", "-T", "--index", index, "worker", "env")
        assert "SKILLFLEET_REDIS_URL" in seen
        assert "LLM_" not in seen


@pytest.mark.parametrize("service", ["redis", "orchestrator", "worker", "flower"])
def test_a_service_has_no_root_no_capability_and_no_writable_root(fleet: Compose, service: str) -> None:
    status = fleet.output("exec", "-T", service, "cat", "/proc/1/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert "0" not in fields["Uid"].split()
    assert int(fields["CapEff"], 16) == int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    mounts = fleet.output("exec", "-T", service, "cat", "/proc/mounts").splitlines()
    assert all(" ro," in mount for mount in mounts if mount.split()[1] == "/")


def test_redis_refuses_strangers_and_keeps_what_it_accepted(fleet: Compose) -> None:
    stranger = fleet.output("exec", "-T", "redis", "sh", "-c", "unset REDISCLI_AUTH; redis-cli ping")
    assert "NOAUTH" in stranger
    for setting, value in (
        ("appendonly", "yes"),
        ("appendfsync", "always"),
        ("maxmemory-policy", "noeviction"),
    ):
        assert value in fleet.output("exec", "-T", "redis", "redis-cli", "config", "get", setting).split()


def test_the_skills_are_read_only_for_a_worker(fleet: Compose) -> None:
    assert fleet.output("exec", "-T", "worker", "cat", "/skills/calculator/SKILL.md") == SKILL
    assert fleet.run("exec", "-T", "worker", "touch", "/skills/calculator/planted").returncode != 0
