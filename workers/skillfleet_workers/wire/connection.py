"""How a process finds its fleet: the settings that both sides share, and the URLs made from them."""

import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import urlsplit, urlunsplit

import redis
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from .settings_errors import EMPTY, complaint

MAX_SOCKET_PATH = 100
"""Unix socket paths beyond about this many characters are cut in silence by the operating system."""

URL_SCHEMES = ("redis", "rediss", "unix")


SETTINGS_EXIT = 2
NO_BROKER_EXIT = 3
"""Exit codes of every process of a fleet; a supervisor does not start one again that has refused its settings."""


class SettingsError(Exception):
    """A setting is wrong: one line that names it, what is wrong with its value, and the fix."""


def default_state_dir() -> Path:
    """XDG Base Directory specification: user state."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "skillfleet"


class FleetSettings(BaseSettings):
    """Read from the environment, then `.env`; frozen. Both sides inherit it."""

    model_config = SettingsConfigDict(
        frozen=True, env_file=".env", extra="ignore", populate_by_name=True, validate_default=True
    )

    redis_url: SecretStr | None = Field(default=None, validation_alias="SKILLFLEET_REDIS_URL")
    state_dir: Path = Field(default_factory=default_state_dir, validation_alias="SKILLFLEET_STATE_DIR")
    skills_folder: Path = Field(default=Path("skills"), validation_alias="SKILLS_FOLDER_PATH")
    fleet: str = Field(
        default="",
        validation_alias="SKILLFLEET_FLEET",
        pattern=r"^[a-z0-9-]{0,40}$",
        description="a name of lower-case letters, digits and '-', at most 40",
    )
    result_ttl_hours: int = Field(default=168, ge=1, validation_alias="SKILLFLEET_RESULT_TTL_HOURS")

    @field_validator("state_dir", "skills_folder", mode="before")
    @classmethod
    def _folder(cls, value: str | Path) -> Path:
        # Not the shell's work: a value in .env or in a service's unit has seen no shell.
        if not str(value).strip():
            raise ValueError(EMPTY)
        try:
            return Path(value).expanduser()
        except RuntimeError:
            raise ValueError(f"{str(value)!r} has no home folder; write the whole path") from None

    @field_validator("state_dir")
    @classmethod
    def _absolute(cls, folder: Path) -> Path:
        return folder.absolute()

    @field_validator("redis_url")
    @classmethod
    def _known_scheme(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None or not url.get_secret_value():
            return None
        if not _is_redis_url(url.get_secret_value()):
            raise ValueError("is not a redis URL; write redis://host:6379/0, rediss://... or unix:///path")
        return url

    @model_validator(mode="after")
    def _fleet_of_folder(self) -> Self:
        # Two projects on one laptop share a redis but not their skills: calls must reach the right folder.
        if not self.fleet:
            local = hashlib.sha256(os.fsencode(self.skills_folder.resolve())).hexdigest()[:8]
            object.__setattr__(self, "fleet", "default" if self.redis_url else local)
        return self


def _is_redis_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in URL_SCHEMES and bool(parts.hostname or parts.path) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket left open; its message would quote the password
        return False


Loaded = TypeVar("Loaded", bound=BaseSettings)


def load_settings(kind: type[Loaded], **overrides: object) -> Loaded:
    """Build settings from the environment; `overrides` (by field name) win.

    Raises:
        SettingsError: naming the variable and the problem, never the value of a secret.
    """
    try:
        return kind(**overrides)  # type: ignore[arg-type]
    except ValidationError as wrong:
        raise SettingsError(complaint(kind, wrong.errors(include_url=False)[0])) from None
    except UnicodeDecodeError:
        raise SettingsError(".env: is not UTF-8 text; save it as UTF-8") from None


def default_private_url(state_dir: Path) -> str:
    """Where the private redis of a state folder listens: a unix socket, kept short enough to be legal."""
    path = state_dir / "redis" / "redis.sock"
    if len(str(path)) > MAX_SOCKET_PATH:
        digest = hashlib.sha256(os.fsencode(state_dir)).hexdigest()[:12]
        path = Path(f"/tmp/skillfleet-{os.getuid()}-{digest}") / "redis.sock"
    return f"unix://{path}"


@dataclass(frozen=True, slots=True)
class RedisUrls:
    """One redis, two database numbers: the broker's can be lost, the ledger's cannot."""

    url: str

    @classmethod
    def of(cls, settings: FleetSettings) -> "RedisUrls":
        if settings.redis_url:
            return cls(settings.redis_url.get_secret_value())
        return cls(default_private_url(settings.state_dir))

    @property
    def is_socket(self) -> bool:
        return self.url.startswith("unix://")

    def _database(self) -> int:
        path = urlsplit(self.url).path.strip("/")
        return int(path) if not self.is_socket and path.isdigit() else 0

    def _celery(self, database: int) -> str:
        parts = urlsplit(self.url)
        if self.is_socket:
            auth = f":{parts.password}@" if parts.password else ""
            return f"redis+socket://{auth}{parts.path}?virtual_host={database}"
        query = parts.query
        if parts.scheme == "rediss" and "ssl_cert_reqs" not in query:
            # Celery would not check the certificate unless told to; redis-py does.
            query = "&".join(filter(None, [query, "ssl_cert_reqs=required"]))
        return urlunsplit(parts._replace(path=f"/{database}", query=query))

    @property
    def broker(self) -> str:
        return self._celery(self._database())

    @property
    def results(self) -> str:
        """The result backend lives beside the ledger: results must survive a flushed broker."""
        return self._celery(self._database() + 1)

    @property
    def safe(self) -> str:
        """For people and logs: without the password."""
        if self.is_socket:
            return f"unix://{urlsplit(self.url).path}"
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=host))

    def client(self, *, broker: bool = False, blocking_seconds: float = 0) -> redis.Redis:
        """A client of the ledger's database (or the broker's). Blocking reads need their time named here:
        redis-py's own socket timeout would end them early."""
        return redis.Redis.from_url(
            self.url if self.is_socket else urlunsplit(urlsplit(self.url)._replace(path="")),
            db=self._database() + (0 if broker else 1),
            decode_responses=True,
            socket_timeout=10 + blocking_seconds,
            socket_connect_timeout=5,
            health_check_interval=30,
            retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 3),
            **({} if self.is_socket else {"socket_keepalive": True}),
        )


def worker_name() -> str:
    """Unique among live processes of the fleet: host and process id."""
    return f"{socket.gethostname()}-{os.getpid()}"
