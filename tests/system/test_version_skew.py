"""What a later release puts on a fleet does this one no harm."""

from uuid import uuid4

from tests.system.conftest import Shared
from tests.system.replies import call, python

from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.connection import RedisUrls
from skillfleet_workers.wire.keys import FleetKeys
from skillfleet_workers.wire.presence import LiveProcess, live_processes

TURNS = ([call("list_skills"), python("print(6 * 7)", "a")], "${a.stdout}")


def test_a_task_that_workers_do_not_know_stops_none_of_them(shared: Shared) -> None:
    settings = shared.place.settings
    before = {one.name for one in live_processes(RedisUrls.of(settings).client(), settings.fleet)}
    with make_celery(settings, sends_only=True) as sender:
        for _ in range(3 * len(before)):
            sender.send_task("skills.added_later", args=[{}], task_id=uuid4().hex)
    with shared.place.fleet() as fleet:
        for _ in range(3):
            assert fleet.result(fleet.submit("Go on.", model=shared.place.script(*TURNS))).answer == "42"
        assert {one.name for one in fleet.running()} == before
    assert "skills.added_later" in shared.place.log("worker")


def test_a_kind_of_process_that_is_not_known_hides_none_of_the_others(shared: Shared) -> None:
    settings = shared.place.settings
    names = FleetKeys(settings.fleet)
    with RedisUrls.of(settings).client() as client:
        known = live_processes(client, settings.fleet)
        later = LiveProcess.model_construct(role="gateway", name="g1", pid=1, since=0.0)  # type: ignore[arg-type]
        client.hset(names.about, later.member, later.model_dump_json(warnings=False))
        client.zadd(names.live, {later.member: 2e12})
        try:
            assert live_processes(client, settings.fleet) == known
        finally:
            client.zrem(names.live, later.member)
            client.hdel(names.about, later.member)
