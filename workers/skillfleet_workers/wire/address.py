"""Where redis is, as its URL says, in the words of its three clients: redis-py, kombu and Celery's result backend.
How long each of them waits for redis is written here, once."""

import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

WRITE = "write redis://host:6379/0, rediss://..., unix:///path or sentinel://host1,host2/0?master=NAME"

ANSWER_S = 5.0
"""A connection on which no answer comes for this long is given up: its other end may be gone without a word."""

CONNECT_S = 3.0
HEALTH_EVERY_S = 3
"""kombu gives up a blocking read that is overdue by this, and looks as often; a connection that was idle for this
long is tried before it is used."""

KEEPALIVE = {
    getattr(socket, name): value
    for name, value in {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 3, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 15_000}.items()
    if hasattr(socket, name)
}
"""For what only listens (seconds; the last one ms): the kernel notices that the other end is gone."""

PORTS = {"redis": 6379, "rediss": 6379, "sentinel": 26379}
TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_ca_path", "ssl_password")
OWN_OPTIONS = {"unix": ("db",), "sentinel": ("master", "ssl", "sentinel_username", "sentinel_password")}
CHECKS = {"required": ssl.CERT_REQUIRED, "optional": ssl.CERT_OPTIONAL, "none": ssl.CERT_NONE}


@dataclass(frozen=True, slots=True)
class Address:
    """`tls`: its options in redis-py's names; None where there is none. `credentials`: `username` and `password`, as
    far as given; `sentinel_credentials`: those of the sentinels."""

    scheme: str
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    database: int = 0
    credentials: Mapping[str, str] = field(default_factory=dict)
    tls: Mapping[str, Any] | None = None
    master: str = ""
    sentinel_credentials: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, url: str) -> "Address":
        """
        Raises:
            ValueError: it is none; the message says why, without a secret.
        """
        scheme, _, rest = url.partition("://")
        if scheme not in ("unix", *PORTS):
            raise ValueError(f"is not a redis URL; {WRITE}")
        rest, _, query = rest.partition("?")
        logins, _, place = ("", "", rest) if rest.startswith("/") else rest.rpartition("@")
        where, _, tail = place.partition("/")
        options = dict(parse_qsl(query))
        # Hosts before options: what has no host may be a password with a '?' in it, of which nothing is quoted.
        hosts = () if scheme == "unix" else tuple(_host(one, scheme) for one in where.split(","))
        tls = _tls(scheme, options)
        if len(hosts) > 1 and scheme != "sentinel":
            raise ValueError(f"names {len(hosts)} hosts; {WRITE}")
        if unknown := sorted(options.keys() - {*OWN_OPTIONS.get(scheme, ()), *_tls_names(tls)}):
            raise ValueError(f"{unknown[0]!r} is no option of a {scheme} URL")
        socket_path = unquote(f"{where}/{tail}") if scheme == "unix" else ""
        if scheme == "unix" and (socket_path == "/" or not socket_path.startswith("/")):
            raise ValueError(f"is not a redis URL; {WRITE}")
        if scheme == "sentinel" and not options.get("master"):
            raise ValueError("names no master; add ?master=NAME, as in the sentinels' `sentinel monitor NAME ...`")
        return cls(
            scheme=scheme,
            hosts=hosts,
            path=socket_path,
            database=_database(options.get("db", "0") if socket_path else tail.strip("/")),
            credentials=_credentials(*map(unquote, logins.partition(":")[::2])),
            tls=tls,
            master=options.get("master", ""),
            sentinel_credentials=_credentials(options.get("sentinel_username"), options.get("sentinel_password")),
        )

    @property
    def safe(self) -> str:
        """For people and logs: without a secret."""
        if self.path:
            return f"unix://{self.path}"
        tail = f"?master={self.master}" if self.master else ""
        return f"{self.scheme}://{','.join(map(_written, self.hosts))}/{self.database}{tail}"

    def celery_url(self, database: int) -> str:
        """For kombu and for the result backend."""
        name, secret = (quote(self.credentials.get(part, ""), safe="") for part in ("username", "password"))
        login = f"{name}:{secret}@" if self.credentials else ""
        if self.path:
            return f"redis+socket://{login}{quote(self.path)}?virtual_host={database}"
        return ";".join(f"{self.scheme}://{login}{_written(host)}/{database}" for host in self.hosts)

    @property
    def celery_settings(self) -> dict[str, Any]:
        """What a Celery app has to know beside the two URLs."""
        transport: dict[str, Any] = {**self._patience(), "health_check_interval": HEALTH_EVERY_S}
        if self.master:
            transport |= {"master_name": self.master, "sentinel_kwargs": self._of_sentinels()}
        # Those of the result backend have names of their own, and it does not know `socket_keepalive_options`.
        settings: dict[str, Any] = {
            "redis_socket_timeout": ANSWER_S,
            "redis_socket_connect_timeout": CONNECT_S,
            "redis_backend_health_check_interval": HEALTH_EVERY_S,
            "redis_socket_keepalive": not self.path,
            "broker_connection_max_retries": None,
        }
        if self.tls is not None:
            settings |= {"broker_use_ssl": dict(self.tls), "redis_backend_use_ssl": dict(self.tls)}
        return settings | {"broker_transport_options": transport, "result_backend_transport_options": transport}

    def client(self, database: int, blocking_seconds: float = 0) -> redis.Redis:
        """`blocking_seconds`: how long a command may have to wait before redis answers."""
        options: dict[str, Any] = {
            **self._patience(blocking_seconds),
            **self.credentials,
            "db": database,
            "decode_responses": True,
            "health_check_interval": HEALTH_EVERY_S,
            "retry": Retry(ExponentialBackoff(cap=0.5, base=0.05), 3),
        }
        if self.path:
            return redis.Redis(unix_socket_path=self.path, **options)
        if self.tls is not None:
            options |= {"ssl": True, **self.tls}
        if self.master:
            found: redis.Redis = Sentinel(self.hosts, sentinel_kwargs=self._of_sentinels()).master_for(  # type: ignore[no-untyped-call]
                self.master, **options
            )
            return found
        ((host, port),) = self.hosts
        return redis.Redis(host=host, port=port, **options)

    def _patience(self, blocking_seconds: float = 0) -> dict[str, Any]:
        waits = {"socket_timeout": ANSWER_S + blocking_seconds, "socket_connect_timeout": CONNECT_S}
        return waits if self.path else {**waits, "socket_keepalive": True, "socket_keepalive_options": KEEPALIVE}

    def _of_sentinels(self) -> dict[str, Any]:
        # They are asked one after the other: the next one rather than the same one again.
        waits = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0, "retry": None}
        tls = {} if self.tls is None else {"ssl": True, **self.tls}
        return {**waits, **tls, **self.sentinel_credentials}


def _host(text: str, scheme: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        name, port = parts.hostname, parts.port
    except ValueError:  # its own message would quote what may be half a password
        name, port = None, 0
    if port == 0 or not name:
        raise ValueError(f"is not a redis URL; {WRITE}")
    return name, port or PORTS[scheme]


def _written(host: tuple[str, int]) -> str:
    name, port = host
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _database(text: str) -> int:
    if text and not text.isdigit():
        raise ValueError(f"{text!r} is no database number; {WRITE}")
    return int(text or 0)


def _credentials(username: str | None, password: str | None) -> dict[str, str]:
    return {name: text for name, text in (("username", username), ("password", password)) if text}


def _tls(scheme: str, options: Mapping[str, str]) -> dict[str, Any] | None:
    """Celery would not check the certificate unless told to; redis-py does."""
    if scheme != "rediss" and not (scheme == "sentinel" and any(name.startswith("ssl") for name in options)):
        return None
    check = options.get("ssl_cert_reqs", "required").removeprefix("CERT_").lower()
    if check not in CHECKS:
        raise ValueError(f"ssl_cert_reqs is none of {', '.join(CHECKS)}")
    files = {name: options[name] for name in TLS_FILES if name in options}
    name_checked = options.get("ssl_check_hostname", "true").lower() not in ("false", "0", "no")
    return {"ssl_cert_reqs": CHECKS[check], "ssl_check_hostname": name_checked and check != "none", **files}


def _tls_names(tls: Mapping[str, Any] | None) -> tuple[str, ...]:
    return () if tls is None else ("ssl_cert_reqs", "ssl_check_hostname", *TLS_FILES)
