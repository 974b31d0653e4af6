"""Tenants and priorities on real processes."""

from tests.system.fleet import Place, running_fleet, wait_for
from tests.system.replies import python
from tests.system.servers import RedisServer

from skillfleet.submission import Submission

BATCH = 300
SLOWLY = "import time; time.sleep(0.2); print(6 * 7)"


def test_one_who_asks_one_thing_is_answered_while_most_of_another_ones_batch_waits(place: Place) -> None:
    model = place.script([python(SLOWLY)], "42")
    asked = [
        Submission.of({"prompt": f"{n}", "model": model, "tenant": "batch", "priority": 1}) for n in range(BATCH)
    ]
    with RedisServer(place.folder / "redis") as server:
        place.variables["SKILLFLEET_REDIS_URL"] = server.url
        with running_fleet(place, workers=1, concurrency=2), place.fleet() as fleet:
            names = list(fleet.submit_batch(asked))
            wait_for(lambda: any(one.answer for one in fleet.list(BATCH)), "the batch is on its way")
            mine = place.cli(
                "submit", "--tenant", "person", "--priority", "10", "--json", "--model", model, "Quickly."
            )
            assert mine.returncode == 0, mine.stderr
            open_ones = [name for name in names if fleet.status(name).answer is None]
            assert len(open_ones) > BATCH / 2
            (told,) = fleet.list(1)
            assert (told.tenant, told.priority, told.answer) == ("person", 10, "42")
            for name in open_ones:
                fleet.cancel(name)
