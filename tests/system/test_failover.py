"""A fleet on a redis that is watched by sentinels: it goes on by itself when its master dies."""

import pytest
from redis.exceptions import TimeoutError as RedisTimeoutError
from tests.conversation_steps import make_spec
from tests.system.fleet import Place, running_fleet, wait_for
from tests.system.redis_processes import watched
from tests.system.replies import Held, holding, python

from skillfleet.conversations.redis_ledger import RedisLedger
from skillfleet_workers.wire.connection import RedisUrls

CONVERSATIONS = 8


def test_conversations_go_on_on_the_new_master_when_the_old_one_is_killed(place: Place) -> None:
    held = Held()
    with watched(place.folder) as servers:
        variables = {"SKILLFLEET_REDIS_URL": servers.url, "SKILLFLEET_REPLICAS": "1"}
        there = Place(place.folder, variables)
        turns = [[python(f"print({n} * 7)", f"n{n}")] for n in range(1, 4)]
        model = there.script(turns[0], [holding(held)], *turns[1:], "${n1.stdout} ${n2.stdout} ${n3.stdout}")
        with running_fleet(there, workers=2, concurrency=CONVERSATIONS), there.fleet() as fleet:
            names = [fleet.submit("Go on.", model=model) for _ in range(CONVERSATIONS)]
            wait_for(lambda: len(held.pids()) == CONVERSATIONS, "all are in mid-script")
            old = servers.master
            assert old.poll() is None
            old.kill()
            held.let_go()
            answers = [fleet.result(name) for name in names]
            assert servers.master is not old
            late = there.cli("submit", "--model", there.script("Said."), "Say it.", env={"SKILLFLEET_REPLICAS": "0"})
    assert [(one.status, one.answer) for one in answers] == [("completed", "7 14 21")] * CONVERSATIONS
    assert (late.returncode, late.stdout) == (0, "Said.\n")


def test_what_too_few_replicas_have_is_not_accepted(place: Place) -> None:
    with watched(place.folder) as servers:
        urls = RedisUrls(servers.url)
        assert [one.id for one in RedisLedger(urls, "test", replicas=1).submit(make_spec("on both"))] == ["on both"]
        with pytest.raises(RedisTimeoutError, match="not on 2 replicas"):
            RedisLedger(urls, "test", replicas=2).submit(make_spec("on both too"))
