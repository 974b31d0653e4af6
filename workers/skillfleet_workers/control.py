"""What a worker is told at once: whose calls are no longer wanted. It may miss it; its heartbeat asks again."""

import logging
import threading
from collections.abc import Callable

import redis

LOOK_EVERY_S = 0.2
"""How long closing may have to wait."""

UNANSWERED = 25
"""redis-py sends a ping with each look, once nothing has come for a while: so many without an answer, and the other
end is held for gone."""

RECONNECT_S = 0.5

log = logging.getLogger(__name__)


class ControlChannel:
    """Hears the fleet's control channel from a thread of its own, and again when redis has come back."""

    def __init__(self, client: redis.Redis, name: str, call_off: Callable[[str], None]) -> None:
        """`call_off` is given a conversation's id."""
        self._client, self._name, self._call_off = client, name, call_off
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    _heard = False

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._listen()
            except redis.RedisError as error:
                if self._heard:  # before that a worker that finds no redis says so itself
                    log.warning("cannot hear what is cancelled: %s; the heartbeat still asks", error)
                self._stop.wait(RECONNECT_S)

    def _listen(self) -> None:
        with self._client.pubsub(ignore_subscribe_messages=True) as channel:  # type: ignore[no-untyped-call]
            channel.subscribe(self._name)
            self._heard = True
            while not self._stop.is_set():
                if message := channel.get_message(timeout=LOOK_EVERY_S):
                    self._call_off(message["data"])
                if channel.health_check_response_counter > UNANSWERED:
                    raise redis.TimeoutError("the connection is silent")
