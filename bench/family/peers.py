"""The same exchange over plain redis: pub/sub, which forgets, and streams with a group, which do not."""

import json
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import redis

PATIENCE_S = 30.0
GROUP = "bench"


class Channel(Protocol):
    """One way, to one reader."""

    def send(self, payload: dict[str, Any]) -> None: ...

    def receive(self) -> dict[str, Any]:
        """The next one. Raises: TimeoutError."""
        ...


class PubSub:
    """Whoever does not listen at that moment never gets it."""

    def __init__(self, connect: Callable[[], redis.Redis]) -> None:
        self._name, self._client = f"bench:{secrets.token_hex(4)}", connect()
        self._reader = connect().pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
        self._reader.subscribe(self._name)
        self._reader.get_message(timeout=1.0)

    def send(self, payload: dict[str, Any]) -> None:
        self._client.publish(self._name, json.dumps(payload))

    def receive(self) -> dict[str, Any]:
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up:
            found = self._reader.get_message(timeout=1.0)
            if found:
                told: dict[str, Any] = json.loads(found["data"])
                return told
        raise TimeoutError(f"nothing came over {self._name}")


class Stream:
    """Read by a group, and acknowledged."""

    def __init__(self, connect: Callable[[], redis.Redis]) -> None:
        self._name, self._client, self._reader = f"bench:{secrets.token_hex(4)}", connect(), connect()
        self._client.xgroup_create(self._name, GROUP, mkstream=True)

    def send(self, payload: dict[str, Any]) -> None:
        self._client.xadd(self._name, {"payload": json.dumps(payload)})

    def receive(self) -> dict[str, Any]:
        found: Any = self._reader.xreadgroup(GROUP, "reader", {self._name: ">"}, 1, int(PATIENCE_S * 1000))
        if not found:
            raise TimeoutError(f"nothing came over {self._name}")
        ((_, ((place, fields),)),) = found
        self._reader.xack(self._name, GROUP, place)
        told: dict[str, Any] = json.loads(fields["payload"])
        return told


def back_and_forth(there: Channel, back: Channel, times: int) -> list[float]:
    """Seconds of each way, one message at a time."""
    taken: list[float] = []

    def answer() -> None:
        for _ in range(times):
            taken.append(_since(there.receive()))
            back.send({"at": time.perf_counter()})

    answering = threading.Thread(target=answer, daemon=True)
    answering.start()
    for _ in range(times):
        there.send({"at": time.perf_counter()})
        taken.append(_since(back.receive()))
    answering.join(PATIENCE_S)
    return taken


def _since(payload: dict[str, Any]) -> float:
    return time.perf_counter() - float(payload["at"])


def one_way(channel: Channel, count: int) -> float:
    """Seconds until the last of them is there."""
    began = time.perf_counter()

    def send() -> None:
        for number in range(count):
            channel.send({"number": number})

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    for _ in range(count):
        channel.receive()
    sending.join(PATIENCE_S)
    return time.perf_counter() - began
