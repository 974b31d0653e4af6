"""The worker's settings. It has no field for a model's key, and forgets any that its environment holds."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator
from pydantic_settings import NoDecode

from .wire.connection import MODEL_VARIABLES, FleetSettings, expanded
from .wire.contract import MAX_TIMEOUT_SECONDS
from .wire.execution import Isolation
from .wire.published import QUEUE_NAME, QUEUE_RULE
from .wire.settings_errors import EMPTY
from .wire.shown import short

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]

SYSTEM_SKILLS = Path("/usr/local/share/skillfleet/skills")

NO_HOME = Path("/nonexistent")

LEAST_CPUS = 0.05
"""With less, an interpreter that imports much would not come up in time."""

MOST_CPUS = 1024


def default_skills_config(known: dict[str, Any]) -> Path:
    """In the state folder, unless that is refused itself."""
    return Path(known.get("state_dir", "")) / "skills.yaml"


def default_user_skills() -> Path:
    """XDG Base Directory specification: user configuration."""
    try:
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    except RuntimeError:  # a user without a home, as in a container
        base = NO_HOME
    return Path(base) / "skillfleet" / "skills"


class WorkerSettings(FleetSettings):
    user_skills: Path = Field(default_factory=default_user_skills, validation_alias="SKILLFLEET_USER_SKILLS_PATH")
    system_skills: Path = Field(default=SYSTEM_SKILLS, validation_alias="SKILLFLEET_SYSTEM_SKILLS_PATH")
    script_timeout_s: int = Field(default=30, gt=0, le=MAX_TIMEOUT_SECONDS, validation_alias="SCRIPT_TIMEOUT_SECONDS")
    script_cpus: float | None = Field(
        default=None,
        ge=LEAST_CPUS,
        le=MOST_CPUS,
        allow_inf_nan=False,
        validation_alias="SKILLFLEET_SCRIPT_CPUS",
        description=f"a number of cores from {LEAST_CPUS} to {MOST_CPUS}, such as 1.5",
    )
    concurrency: int = Field(
        default_factory=lambda: max(2, os.cpu_count() or 2),
        ge=1,
        le=512,
        validation_alias="SKILLFLEET_WORKER_CONCURRENCY",
    )
    build_timeout_s: int = Field(default=600, gt=0, validation_alias="SKILLFLEET_BUILD_TIMEOUT_SECONDS")
    environments_max_mb: int = Field(default=20_000, gt=0, validation_alias="SKILLFLEET_ENVIRONMENTS_MAX_MB")
    warm_mb: int = Field(default=1024, gt=0, validation_alias="SKILLFLEET_WARM_MB")
    min_isolation: Isolation = Field(default="process", validation_alias="SKILLFLEET_MIN_ISOLATION")
    log_level: LogLevel = Field(default="INFO", validation_alias="SKILLFLEET_LOG_LEVEL")
    skills_config: Path = Field(default_factory=default_skills_config, validation_alias="SKILLFLEET_SKILLS_CONFIG")
    script_path: Annotated[tuple[Path, ...], NoDecode] = Field(default=(), validation_alias="SKILLFLEET_SCRIPT_PATH")
    """Folders in which scripts find programs, besides those of the system."""
    worker_queues: Annotated[frozenset[str], NoDecode] = Field(
        default=frozenset(), validation_alias="SKILLFLEET_WORKER_QUEUES"
    )

    @field_validator("skills_config", mode="before")
    @classmethod
    def _file(cls, value: str | Path) -> Path:
        return expanded(value).absolute()

    @field_validator("script_path", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        if not value.strip():
            raise ValueError(EMPTY)
        folders = [expanded(name) for name in value.split(os.pathsep) if name.strip()]
        for folder in folders:
            if not folder.is_absolute() or not folder.is_dir():
                raise ValueError(f"{str(folder)!r} is no folder; name whole paths, separated by {os.pathsep!r}")
        return tuple(folders)

    @field_validator("worker_queues", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        if not value.strip():
            raise ValueError(EMPTY)
        names = [name.strip() for name in value.split(",") if name.strip()]
        for name in names:
            if not re.fullmatch(QUEUE_NAME, name):
                raise ValueError(f"{short(name)!r} is no name of a queue: {QUEUE_RULE}; separate them with commas")
        return frozenset(names)

    @field_validator("user_skills", "system_skills", mode="before")
    @classmethod
    def _skills(cls, value: str | Path) -> Path:
        folder = expanded(value)
        if folder.is_file():
            raise ValueError(f"{folder} is a file; name the folder that holds the skills")
        return folder

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        upper = value.upper() if isinstance(value, str) else value
        return upper if upper in get_args(LogLevel) else value

    @model_validator(mode="after")
    def _folder_is_there(self) -> "WorkerSettings":
        folder = self.skills_folder
        try:
            if folder.is_dir():
                return self
            if folder.exists():
                raise ValueError(f"SKILLS_FOLDER_PATH: {folder} is a file; name the folder that holds the skills")
            # Seed 000 creates the default folder; one that was named and is missing is most likely a slip.
            if "skills_folder" in self.model_fields_set:
                raise ValueError(f"SKILLS_FOLDER_PATH: {folder} is no folder; create it, or name another one")
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as wrong:
            why = f"cannot be used ({wrong.strerror})"
            raise ValueError(f"SKILLS_FOLDER_PATH: {folder} {why}; name another folder") from None
        return self


def forget_model_keys() -> None:
    """A worker runs other people's code: what it does not know can't be taken from it.

    A variable that is deleted can still be read from /proc, so a process that was started with one starts over.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(MODEL_VARIABLES)}
    if len(kept) < len(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)
