"""A fleet for one caller: its orchestrator in this process, one worker beside it, gone when the caller is done."""

import contextlib
import os
import secrets
import threading
import time

import redis

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import MODEL_VARIABLES, RedisUrls, SettingsError

from ..app import make_driver
from ..conversations.ledger import Accepted
from ..conversations.models import ConversationSpec
from ..conversations.redis_ledger import RedisLedger
from ..errors import FleetError
from ..settings import OrchestratorSettings
from ..subagents.fork import descends
from .children import Child, ChildGaveUpError, Children
from .uninterrupted import uninterrupted

CANCEL_PATIENCE_S = 3.0


class LoneFleet:
    """Start and close it on the main thread. Its calls go to a queue of its own: another fleet on the same redis
    neither takes them nor waits for them."""

    def __init__(self, settings: OrchestratorSettings, ledger: RedisLedger, name: str) -> None:
        self._settings, self._ledger = settings, ledger
        self.queue = keys.task_queue(name)
        self._bell = keys.FleetKeys(name).bell
        self.log = settings.state_dir / "worker.log"
        self._children = Children()
        self._accepted: list[str] = []
        self._conversations: set[str] = set()
        self._driver = make_driver(settings, ledger, queue=self.queue, only=self._conversations)
        self._thread = threading.Thread(target=self._driver.run, name="driver", daemon=True)

    def start(self) -> None:
        arguments = ("-m", "skillfleet_workers", "worker", "--queue", self.queue, "--lone")
        self._children.start(Child("worker", arguments, worker_environment(self._settings), self.log))
        self._thread.start()

    def submit(self, *specs: ConversationSpec) -> list[Accepted]:
        """Accept conversations, and move them until they end or this fleet does. It ends those that are its own, but
        for those with an idempotency key: submitted again, they go on from where they stand."""
        with uninterrupted():  # else one could be stored, and nobody know that it is ours to end
            self._accepted += [spec.id for spec in specs if not spec.idempotency_key]
            accepted = self._ledger.submit(*specs)
            self._conversations.update(one.id for one in accepted)
        self._ring()
        return accepted

    def look_after(self) -> None:
        """Start the worker again, should it have died.

        Raises:
            SettingsError: it refuses its settings; the line is its own.
            FleetError: the orchestrator has ended by a fault of its own.
        """
        try:
            self._children.look_after()
        except ChildGaveUpError:
            raise SettingsError(self.log.read_text().strip().splitlines()[-1].removeprefix("skillfleet: ")) from None
        if not self._thread.is_alive():
            raise FleetError("the orchestrator of this fleet has ended; its traceback is above")

    def close(self) -> None:
        """End what nobody would go on with, and itself."""
        try:
            self._cancel_all()
        finally:
            self._driver.stop()
            self._ring()
            self._children.stop()
        if self._thread.is_alive():
            self._thread.join(2)
        with contextlib.suppress(redis.RedisError), RedisUrls.of(self._settings).client(broker=True) as broker:
            self._ledger.client.delete(self._bell)
            broker.delete(self.queue, *broker.scan_iter(f"{self.queue}.*", count=1000))

    def _cancel_all(self) -> None:
        give_up = time.monotonic() + CANCEL_PATIENCE_S
        with contextlib.suppress(redis.RedisError):
            for name in self._accepted:
                with contextlib.suppress(KeyError):
                    if self._ledger.cancel(name) and self._thread.is_alive():
                        self._ledger.ended(name, max(0.0, give_up - time.monotonic()))
            for name in sorted(self._conversations):
                if any(descends(name, own) for own in self._accepted) and self._thread.is_alive():
                    self._ledger.ended(name, max(0.0, give_up - time.monotonic()))

    def _ring(self) -> None:
        with contextlib.suppress(redis.RedisError):
            self._ledger.client.lpush(self._bell, "look")


def lone_name() -> str:
    return f"lone-{os.getpid()}-{secrets.token_hex(3)}"


def worker_environment(settings: OrchestratorSettings) -> dict[str, str]:
    """Ours, without the model's keys and Flower's logins, and with what the caller has set from Python."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith((*MODEL_VARIABLES, "FLOWER_"))
    }
    inherited["SKILLFLEET_STATE_DIR"] = str(settings.state_dir)
    inherited["SKILLFLEET_FLEET"] = settings.fleet
    if "skills_folder" in settings.model_fields_set:
        inherited["SKILLS_FOLDER_PATH"] = str(settings.skills_folder)
    if settings.redis_url:
        inherited["SKILLFLEET_REDIS_URL"] = settings.redis_url.get_secret_value()
    return inherited
