"""The model's key and redis' password: known where they are used, and seen nowhere else."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
import pytest
import redis
from tests.model_server import KEY
from tests.system.conftest import Shared
from tests.system.fleet import words_of
from tests.system.replies import python

PRINTS_ITS_ENVIRONMENT = "import os; print(sorted(os.environ.items()))"


@pytest.fixture(scope="module")
def printed(shared: Shared) -> str:
    """What conversations left on stdout and stderr, once key and password have been used for them."""
    model = shared.provider.plays("Hello.")
    asked = shared.place.cli("submit", "--json", "--model", model, "Hello?", env=shared.provider.variables)
    (request,) = shared.provider.received(model)
    assert request.headers["authorization"] == f"Bearer {KEY}"
    script = shared.place.script([python(PRINTS_ITS_ENVIRONMENT, "it")], "${it.stdout}")
    ran = shared.place.cli("submit", "--follow", "--model", script, "Tell.", env=shared.provider.variables)
    assert "SKILL_NAME" in ran.stdout
    return asked.stdout + asked.stderr + ran.stdout + ran.stderr


@pytest.fixture
def secrets(shared: Shared) -> tuple[str, str]:
    return KEY, shared.redis.password


def database(client: redis.Redis) -> str:
    """Every key with its value."""
    readers: dict[str, Callable[[str], Any]] = {
        "string": client.get,
        "hash": client.hgetall,
        "list": lambda key: client.lrange(key, 0, -1),
        "set": client.smembers,
        "zset": lambda key: client.zrange(key, 0, -1),
        "stream": client.xrange,
        "none": lambda key: "",  # gone meanwhile
    }
    return "\n".join(f"{key} {readers[str(client.type(key))](key)}" for key in client.scan_iter())


def test_no_output_and_no_script_shows_them(printed: str, secrets: tuple[str, str]) -> None:
    assert not [secret for secret in secrets if secret in printed]


def test_no_log_holds_them(shared: Shared, printed: str, secrets: tuple[str, str]) -> None:
    logs = {log.name: log.read_text() for log in shared.place.folder.glob("*.log")}
    assert "succeeded" in logs["worker.log"]
    assert {"orchestrator.log", "worker.log"} <= set(logs)
    assert not [name for name, text in logs.items() for secret in secrets if secret in text]


def test_redis_holds_neither(shared: Shared, printed: str, secrets: tuple[str, str]) -> None:
    broker, ledger = (database(shared.redis.client(number)) for number in (0, 1))
    assert "_kombu.binding" in broker
    assert "celery-task-meta" in ledger
    assert "Hello?" in ledger
    assert not [secret for secret in secrets if secret in broker + ledger]


def test_no_command_line_shows_them(shared: Shared, printed: str, secrets: tuple[str, str]) -> None:
    lines = [argument for process in shared.place.living() for argument in words_of(process)]
    assert "orchestrator" in lines
    assert not [line for line in lines for secret in secrets if secret in line]


def test_a_worker_that_was_started_with_the_models_key_has_it_no_more(shared: Shared) -> None:
    """Not even where the system keeps what a process was started with, which its scripts can read."""
    workers = shared.place.commands("worker")
    (orchestrator,) = shared.place.commands("orchestrator")
    assert orchestrator.environ()["LLM_API_KEY"] == KEY
    assert workers
    assert not [name for name in workers[0].environ() if name.startswith("LLM_")]
    for child in workers[0].children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # one of a run that is over
            assert not [name for name in child.environ() if name.startswith("LLM_")]
