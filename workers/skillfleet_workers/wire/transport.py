"""kombu's redis transport, without two things that cost a worker a quarter of its time per call.

kombu makes a new redis client for every publish and every acknowledgement (one of them takes longer to build than
to use), and acknowledges in redis what it has taken with `no_ack` and never booked.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis


class Channel(redis.Channel):
    _client_of_ours: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[misc]
        if self._client_of_ours is None:
            self._client_of_ours = super()._create_client()  # type: ignore[misc]
        return self._client_of_ours

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        if multiple or delivery_tag in (self.qos._delivered or ()):
            super().basic_ack(delivery_tag, multiple=multiple)


class SentinelChannel(Channel, redis.SentinelChannel):
    pass


class Transport(redis.Transport):
    Channel = Channel


class SentinelTransport(redis.SentinelTransport):
    Channel = SentinelChannel


def use_ours() -> None:
    """For every connection that this process makes from now on, TLS included."""
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))
    TRANSPORT_ALIASES["sentinel"] = f"{__name__}:SentinelTransport"
