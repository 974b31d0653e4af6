"""Which of the versions of a skill is meant (pure)."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol, TypeVar

from packaging.version import InvalidVersion, Version

SEPARATOR = "@"

_Key = tuple[bool, Version, str]
_NONE = Version("0")


class Versioned(Protocol):
    @property
    def version(self) -> str: ...


Of = TypeVar("Of", bound=Versioned)


@lru_cache(maxsize=4_096)
def order(version: str) -> _Key:
    """By PEP 440, which reads semantic versions too; what it cannot read comes first."""
    try:
        return True, Version(version), version
    except InvalidVersion:
        return False, _NONE, version


def split(wanted: str) -> tuple[str, str]:
    """`name@1.2.0` in its parts; without a version the second is empty."""
    name, _, version = wanted.partition(SEPARATOR)
    return name, version


def fitting(versions: Iterable[Of], version: str) -> list[Of]:
    """All of them where no version is wanted; else those of exactly this one, or of the same: `1.2` is `1.2.0`."""
    known, wanted, _ = order(version)
    same = [
        one
        for one in versions
        if not version or one.version == version or (known and order(one.version)[:2] == (True, wanted))
    ]
    return [one for one in same if one.version == version] or same


def meant(versions: Iterable[Of], version: str) -> Of | None:
    """The highest of those that fit."""
    return max(fitting(versions, version), key=lambda one: order(one.version), default=None)
