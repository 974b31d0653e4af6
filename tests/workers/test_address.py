"""What a redis URL means to redis-py, to kombu and to the result backend."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
from pydantic import SecretStr
from tests.system.fleet import free_port, wait_for
from tests.system.redis_processes import answers, configured

from skillfleet_workers.wire.address import Address
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import FleetSettings

SENTINELS = "sentinel://me:pw%40@h1,h2:7/2?master=mine&sentinel_password=other"


@pytest.mark.parametrize(
    ("url", "of_celery"),
    [
        ("redis://h", "redis://h:6379/1"),
        ("redis://:p%40w@h:1/3", "redis://:p%40w@h:1/4"),
        ("redis://me:pw@[::1]:7/0", "redis://me:pw@[::1]:7/1"),
        ("rediss://h/0?ssl_ca_certs=/ca", "rediss://h:6379/1"),
        ("unix:///a/b.sock?db=2", "redis+socket:///a/b.sock?virtual_host=3"),
        ("unix:///a@b/c.sock", "redis+socket:///a%40b/c.sock?virtual_host=1"),
        ("unix://:pw@/a.sock", "redis+socket://:pw@/a.sock?virtual_host=1"),
        (SENTINELS, "sentinel://me:pw%40@h1:26379/3;sentinel://me:pw%40@h2:7/3"),
    ],
)
def test_the_next_database_is_named_as_celery_wants_it(url: str, of_celery: str) -> None:
    address = Address.of(url)
    assert address.celery_url(address.database + 1) == of_celery


@pytest.mark.parametrize("form", ["redis://{login}@127.0.0.1:{port}/2", "unix://{login}@{folder}/redis.sock?db=2"])
def test_all_three_clients_come_to_the_same_place_under_the_same_name(state_dir: Path, form: str) -> None:
    password, port = "p@w:/?#%", free_port()
    rules = f"user me on >{password} ~* &* +@all\nuser default on nopass ~* &* +@all\n"
    with configured(state_dir, f"port {port}\nunixsocket {state_dir}/redis.sock\n{rules}"):
        with redis.Redis(port=port) as probe:
            wait_for(lambda: answers(probe), "redis answers")
        url = form.format(login=f"me:{quote(password, safe='')}", port=port, folder=state_dir)
        app: Any = make_celery(FleetSettings(redis_url=SecretStr(url)))
        with Address.of(url).client(3) as ours, app.connection_for_read() as broker:
            clients = [ours, broker.default_channel._create_client(), app.backend.client]
            seen = [client.client_info() for client in clients]
            app.backend.client.close()
    assert [(one["user"], one["db"]) for one in seen] == [("me", 3), ("me", 2), ("me", 3)]


def test_no_secret_is_shown() -> None:
    for url in ("redis://me:hush@h/0", "unix://:hush@/a", "rediss://:hush@h/0?ssl_password=hush", SENTINELS):
        assert "hush" not in Address.of(url).safe
        assert "other" not in Address.of(url).safe
    assert Address.of(SENTINELS).safe == "sentinel://h1:26379,h2:7/2?master=mine"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://h", "is not a redis URL"),
        ("redis://", "is not a redis URL"),
        ("redis://:hush", "is not a redis URL"),
        ("redis://:hu?sh@h/0", "is not a redis URL"),
        ("redis://:hush@[h/0", "is not a redis URL"),
        ("unix://", "is not a redis URL"),
        ("redis://h/zero", "no database number"),
        ("redis://h1,h2/0", "names 2 hosts"),
        ("sentinel://h1,h2/0", "names no master"),
        ("redis://h/0?ssl_ca_certs=/x", "'ssl_ca_certs' is no option"),
        ("rediss://h/0?ssl_cert_reqs=perhaps", "ssl_cert_reqs is none of"),
        ("redis://h/0?timeout=3", "'timeout' is no option"),
    ],
)
def test_what_is_wrong_with_a_url_is_told_without_its_secret(url: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as wrong:
        Address.of(url)
    assert "hu" not in str(wrong.value).replace("sentinel://host", "")


@pytest.mark.parametrize("query", ["ssl=true", "ssl_ca_certs=/ca"])
def test_sentinels_and_what_they_watch_speak_tls_together(query: str) -> None:
    settings = Address.of(f"sentinel://h/0?master=m&{query}").celery_settings
    assert settings["broker_use_ssl"]["ssl_check_hostname"]
    assert settings["broker_transport_options"]["sentinel_kwargs"]["ssl"]
    assert "broker_use_ssl" not in Address.of("sentinel://h/0?master=m").celery_settings
