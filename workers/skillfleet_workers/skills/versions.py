"""Which of the versions of a skill is meant (pure)."""

from collections.abc import Iterable
from functools import lru_cache

from packaging.version import InvalidVersion, Version

from .models import Skill

SEPARATOR = "@"

_Key = tuple[bool, Version, str]
_NONE = Version("0")


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


def meant(versions: Iterable[Skill], version: str) -> Skill | None:
    """The highest, or the one of exactly this version: `1.2` is `1.2.0`."""
    known, wanted, _ = order(version)
    fitting = [
        skill
        for skill in versions
        if not version or skill.version == version or (known and order(skill.version)[:2] == (True, wanted))
    ]
    return max(fitting, key=lambda skill: (skill.version == version, order(skill.version)), default=None)
