"""Whether a redis may hold conversations: what it says of itself, and what is to be thought of that."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import redis

OLDEST = (6, 2)
NUMBERS = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
"""What a version begins with; a release candidate's goes on in letters."""

NEARLY_FULL = 0.8

Facts = Mapping[str, str]
"""Of INFO, and `appendfsync` of CONFIG; without what this user may not ask."""


class UnfitRedisError(redis.RedisError):
    """This redis is there, but it would lose conversations, or can't hold them."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`ok` is None where it could be better; `refused`: no orchestrator and no worker starts on it."""

    ok: bool | None
    detail: str
    fix: str = ""
    refused: bool = False


def require_fit(client: redis.Redis) -> None:
    """
    Raises:
        UnfitRedisError: nothing may be started on it.
    """
    require_database(client)
    for found in judged(read_facts(client)):
        if found.refused:
            raise UnfitRedisError(f"{found.detail}: {found.fix}")


def require_database(client: redis.Redis) -> None:
    """
    Raises:
        UnfitRedisError: it has no such database, or this user may not use it.
    """
    try:
        client.ping()
    except redis.AuthenticationError:
        raise
    except redis.ResponseError as refused:
        number = client.get_connection_kwargs()["db"]
        raise UnfitRedisError(
            f"database {number} cannot be used ({refused}): two are needed, the URL's and the next one"
        ) from None


def read_facts(client: redis.Redis) -> dict[str, str]:
    facts: dict[str, Any] = {}
    for ask in (client.info, lambda: client.config_get("appendfsync")):
        try:
            facts |= cast(dict[str, Any], ask())
        except redis.ResponseError:  # forbidden, renamed away, or not offered by whoever hosts it
            continue
    return {name: str(value) for name, value in facts.items()}


def judged(facts: Facts) -> list[Judgement]:
    if "redis_version" not in facts:
        return [
            Judgement(
                None,
                "this user may not use INFO: neither version nor eviction nor append-only file could be checked",
                "allow it (`+info`), see docs/operations.md",
            )
        ]
    return [*_unfit(facts), _kept_on_disk(facts), *_failing(facts)]


def _unfit(facts: Facts) -> Iterator[Judgement]:
    version = facts["redis_version"]
    fix = f"use Redis {'.'.join(map(str, OLDEST))} or newer, or Valkey"
    numbers = NUMBERS.match(version)
    if numbers is None:
        yield Judgement(None, f"its version is {version!r}: whether it is new enough could not be checked", fix)
    elif tuple(int(number or 0) for number in numbers.groups()) < OLDEST:
        yield Judgement(False, f"its version is {version}", fix, refused=True)
    if facts.get("redis_mode") == "cluster":
        fix = "use one without, watched by sentinels where it must survive"
        yield Judgement(False, "it is a Redis Cluster, which is not supported", fix, refused=True)
    if facts.get("role") == "slave":
        fix = "name the master, or the sentinels (sentinel://host1,host2/0?master=NAME)"
        yield Judgement(False, "it is a replica, which takes no conversations", fix, refused=True)
    policy = facts.get("maxmemory_policy", "noeviction")
    if facts.get("maxmemory", "0") != "0" and policy != "noeviction":
        fix = "redis-cli CONFIG SET maxmemory-policy noeviction"
        yield Judgement(False, f"it may drop conversations, for its maxmemory-policy is {policy}", fix, refused=True)


def _kept_on_disk(facts: Facts) -> Judgement:
    about = facts["redis_version"]
    if facts.get("aof_enabled") != "1":
        fix = "set `appendonly yes`: without it a restart of redis loses conversations"
        return Judgement(None, f"{about}, append-only file off", fix)
    policy = facts.get("appendfsync")
    if policy is None:
        return Judgement(True, f"{about}, append-only file on (this user may not ask how often it is written)")
    if policy == "always":
        return Judgement(True, f"{about}, append-only file on, written before each answer")
    lost = {"everysec": "the last second"}.get(policy, "what the operating system has not written yet")
    fix = f"set `appendfsync always`: a crash of its machine loses {lost}"
    return Judgement(None, f"{about}, append-only file on, appendfsync {policy}", fix)


def _failing(facts: Facts) -> Iterator[Judgement]:
    for name, what in (
        ("aof_last_write_status", "its last write to the append-only file failed: it refuses to take anything"),
        ("aof_last_bgrewrite_status", "its last rewrite of the append-only file failed: that file only grows"),
        ("rdb_last_bgsave_status", "its last snapshot failed"),
    ):
        if facts.get(name, "ok") != "ok":
            yield Judgement(False, what, "look into its log; it is mostly a full disk")
    most, used = int(facts.get("maxmemory", 0)), int(facts.get("used_memory", 0))
    if most and used > NEARLY_FULL * most:
        fix = "raise maxmemory, or lower SKILLFLEET_RESULT_TTL_HOURS"
        yield Judgement(None, f"{used / most:.0%} of its maxmemory is used; at 100% it takes nothing more", fix)
