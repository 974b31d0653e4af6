"""How a process finds its fleet: the settings that both sides share, and the URLs made from them."""

import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import redis
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from .address import Address
from .settings_errors import EMPTY, complaint

MAX_SOCKET_PATH = 100
"""Unix socket paths beyond about this many characters are cut in silence by the operating system."""

SETTINGS_EXIT = 2
NO_BROKER_EXIT = 3
"""Exit codes of every process of a fleet; a supervisor does not start one again that has refused its settings."""

MODEL_VARIABLES = ("LLM_", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "SKILLFLEET_HISTORY_URL")
"""Variables that begin so hold the models' keys, and the history's password, and are the orchestrator's alone."""

HANDING_BACK_S = 5.0
"""Once its grace time is over, a process hands back what it holds and has ended within so many seconds."""


class SettingsError(Exception):
    """A setting is wrong: one line that names it, what is wrong with its value, and the fix."""


def default_state_dir() -> Path:
    """XDG Base Directory specification: user state."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "skillfleet"


def expanded(value: str | Path) -> Path:
    """A folder as a setting names it. Raises ValueError."""
    # Not the shell's work: a value in .env or in a service's unit has seen no shell.
    if not str(value).strip():
        raise ValueError(EMPTY)
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise ValueError(f"{str(value)!r} has no home folder; write the whole path") from None


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
    replicas: int = Field(default=0, ge=0, le=10, validation_alias="SKILLFLEET_REPLICAS")
    """How many replicas of redis must have a conversation before it is accepted."""
    artifacts_url: str = Field(default="", validation_alias="SKILLFLEET_ARTIFACTS_URL")
    """Of the artifact store, as fsspec has it; empty: a folder in the state folder."""
    grace_s: int = Field(default=30, ge=0, le=86400, validation_alias="SKILLFLEET_GRACE_SECONDS")

    @field_validator("state_dir", "skills_folder", mode="before")
    @classmethod
    def _folder(cls, value: str | Path) -> Path:
        return expanded(value)

    @field_validator("state_dir")
    @classmethod
    def _absolute(cls, folder: Path) -> Path:
        return folder.absolute()

    @field_validator("redis_url")
    @classmethod
    def _known_scheme(cls, url: SecretStr | None) -> SecretStr | None:
        if url is None or not url.get_secret_value():
            return None
        Address.of(url.get_secret_value())
        return url

    @model_validator(mode="after")
    def _fleet_of_folder(self) -> Self:
        # Two projects on one laptop share a redis but not their skills: calls must reach the right folder.
        if not self.fleet:
            local = hashlib.sha256(os.fsencode(self.skills_folder.resolve())).hexdigest()[:8]
            object.__setattr__(self, "fleet", "default" if self.redis_url else local)
        return self


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
    def address(self) -> Address:
        return Address.of(self.url)

    @property
    def broker(self) -> str:
        return self.address.celery_url(self.address.database)

    @property
    def results(self) -> str:
        """The result backend lives beside the ledger: results must survive a flushed broker."""
        return self.address.celery_url(self.address.database + 1)

    @property
    def safe(self) -> str:
        """For people and logs: without a secret."""
        return self.address.safe

    def client(self, *, broker: bool = False, blocking_seconds: float = 0) -> redis.Redis:
        """A client of the ledger's database (or the broker's). Blocking reads need their time named here."""
        return self.address.client(self.address.database + (0 if broker else 1), blocking_seconds)


def worker_name() -> str:
    """Unique among live processes of the fleet: host and process id."""
    return f"{socket.gethostname()}-{os.getpid()}"
