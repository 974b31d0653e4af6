"""A fleet for one caller: its orchestrator in this process, one worker beside it, gone when the caller is done."""

import contextlib
import os
import secrets
import threading

import redis

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import RedisUrls, SettingsError

from ..app import make_driver
from ..conversations.driver import Driver
from ..conversations.redis_ledger import RedisLedger
from ..settings import OrchestratorSettings
from .children import Child, ChildGaveUpError, Children


class LoneFleet:
    """Start and close it on the main thread. Its calls go to a queue of its own: another fleet on the same redis
    neither takes them nor waits for them."""

    def __init__(self, settings: OrchestratorSettings, ledger: RedisLedger, name: str) -> None:
        self._settings, self._ledger = settings, ledger
        self._queue = keys.task_queue(name)
        self._bell = keys.FleetKeys(name).bell
        self._log = settings.state_dir / "worker.log"
        self._children = Children()
        self._drivers: list[tuple[Driver, threading.Thread]] = []

    def start(self) -> None:
        arguments = ("-m", "skillfleet_workers", "worker", "--queue", self._queue, "--lone")
        self._children.start(Child("worker", arguments, worker_environment(self._settings), self._log))

    def serve(self, conversation_id: str) -> None:
        driver = make_driver(self._settings, self._ledger, queue=self._queue, only=conversation_id)
        thread = threading.Thread(target=driver.run, name="driver", daemon=True)
        thread.start()
        self._drivers.append((driver, thread))

    def look_after(self) -> None:
        """Start the worker again, should it have died.

        Raises:
            SettingsError: it refuses its settings; the line is its own.
        """
        try:
            self._children.look_after()
        except ChildGaveUpError:
            raise SettingsError(self._log.read_text().strip().splitlines()[-1].removeprefix("skillfleet: ")) from None

    def close(self) -> None:
        for driver, _ in self._drivers:
            driver.stop()
            with contextlib.suppress(redis.RedisError):
                self._ledger.client.lpush(self._bell, "stop")  # they may be waiting for it
        self._children.stop()
        for _, thread in self._drivers:
            thread.join(2)
        with contextlib.suppress(redis.RedisError), RedisUrls.of(self._settings).client(broker=True) as broker:
            self._ledger.client.delete(self._bell)
            broker.delete(self._queue, f"_kombu.binding.{self._queue}")


def lone_name() -> str:
    return f"lone-{os.getpid()}-{secrets.token_hex(3)}"


def worker_environment(settings: OrchestratorSettings) -> dict[str, str]:
    """Ours, without the model's keys and Flower's logins, and with what the caller has set from Python."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "FLOWER_"))}
    inherited["SKILLFLEET_STATE_DIR"] = str(settings.state_dir)
    inherited["SKILLFLEET_FLEET"] = settings.fleet
    if "skills_folder" in settings.model_fields_set:
        inherited["SKILLS_FOLDER_PATH"] = str(settings.skills_folder)
    if settings.redis_url:
        inherited["SKILLFLEET_REDIS_URL"] = settings.redis_url.get_secret_value()
    return inherited
