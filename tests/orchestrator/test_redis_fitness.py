"""Which redis may hold conversations."""

import pytest

from skillfleet_workers.wire.fitness import judged

SOUND = {
    "redis_version": "7.4.1",
    "redis_mode": "standalone",
    "role": "master",
    "maxmemory": "0",
    "maxmemory_policy": "noeviction",
    "used_memory": "1000000",
    "aof_enabled": "1",
    "aof_last_write_status": "ok",
    "aof_last_bgrewrite_status": "ok",
    "rdb_last_bgsave_status": "ok",
    "appendfsync": "always",
}


def test_a_sound_redis_has_one_good_line() -> None:
    (found,) = judged(SOUND)
    assert found.ok and not found.fix and not found.refused
    assert found.detail.startswith("7.4.1, append-only file on")


@pytest.mark.parametrize("version", ["6.2", "6.2-rc1", "7.x", "8.0-rc1", "8", "10.0.0", "255.255.255"])
def test_what_follows_the_number_of_a_version_is_no_matter(version: str) -> None:
    (found,) = judged(SOUND | {"redis_version": version})
    assert found.ok and found.detail.startswith(f"{version}, ")


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"redis_version": "6.0.16"}, "version is 6.0.16"),
        ({"redis_version": "6.0-rc1"}, "version is 6.0-rc1"),
        ({"redis_version": "5"}, "version is 5"),
        ({"redis_mode": "cluster"}, "Cluster"),
        ({"role": "slave"}, "replica"),
        ({"maxmemory": "1000", "maxmemory_policy": "allkeys-lru", "used_memory": "1"}, "allkeys-lru"),
        ({"maxmemory": "1000", "maxmemory_policy": "volatile-ttl", "used_memory": "1"}, "volatile-ttl"),
    ],
)
def test_nothing_starts_on_a_redis_that_loses_conversations_or_holds_none(facts: dict[str, str], told: str) -> None:
    (found,) = [one for one in judged(SOUND | facts) if one.refused]
    assert found.ok is False
    assert told in found.detail
    assert found.fix


@pytest.mark.parametrize(
    ("facts", "ok", "told"),
    [
        ({"redis_version": "unstable"}, None, "'unstable': whether it is new enough could not be checked"),
        ({"redis_version": ""}, None, "'': whether it is new enough could not be checked"),
        ({"aof_enabled": "0"}, None, "append-only file off"),
        ({"appendfsync": "everysec"}, None, "appendfsync everysec"),
        ({"aof_last_write_status": "err"}, False, "last write to the append-only file failed"),
        ({"aof_last_bgrewrite_status": "err"}, False, "last rewrite"),
        ({"rdb_last_bgsave_status": "err"}, False, "last snapshot"),
        ({"maxmemory": "1100000"}, None, "91% of its maxmemory"),
    ],
)
def test_what_could_be_better_is_told_and_no_reason_to_stay_away(
    facts: dict[str, str], ok: bool | None, told: str
) -> None:
    found = judged(SOUND | facts)
    assert not [one for one in found if one.refused]
    assert [(one.ok, bool(one.fix)) for one in found if told in one.detail] == [(ok, True)]


def test_a_policy_that_never_applies_is_none_of_our_business() -> None:
    (found,) = judged(SOUND | {"maxmemory_policy": "allkeys-lru"})
    assert found.ok


def test_who_may_not_ask_is_told_so_and_goes_on() -> None:
    (found,) = judged({})
    assert found.ok is None and not found.refused
    assert "INFO" in found.detail
    without_config = {name: text for name, text in SOUND.items() if name != "appendfsync"}
    (found,) = judged(without_config)
    assert found.ok and "may not ask" in found.detail
