"""A network that fails without a word: connections that stay open and carry nothing, or carry it far too late."""

from collections.abc import Callable

import pytest
from tests.system.fleet import Place, running_fleet, wait_for
from tests.system.network import Network, network_to
from tests.system.replies import Held, holding, python
from tests.system.servers import RedisServer

CONVERSATIONS = 3
BACK_WITHIN_S = 90.0
"""Far beyond what it takes (6 s, where nothing else runs), far below what a connection without a timeout would take
(15 minutes)."""


def dies(network: Network) -> None:
    network.dead = True


def lags(network: Network) -> None:
    network.delay_s = 5.0


@pytest.mark.parametrize("fails", [dies, lags])
def test_a_fleet_goes_on_once_its_network_does(place: Place, fails: Callable[[Network], None]) -> None:
    held = Held()
    with RedisServer(place.folder / "redis") as server, network_to(server.port) as network:
        near = Place(place.folder, {"SKILLFLEET_REDIS_URL": server.url})
        far = Place(place.folder, {"SKILLFLEET_REDIS_URL": f"redis://127.0.0.1:{network.port}/0"})
        six, hold, one = python("print(6 * 7)", "six"), holding(held), python("print(1)")
        model = near.script([six], [hold], [one], "${six.stdout}")
        with running_fleet(far, workers=1, concurrency=CONVERSATIONS), near.fleet() as fleet:
            names = [fleet.submit("Go on.", model=model) for _ in range(CONVERSATIONS)]
            wait_for(lambda: len(held.pids()) == CONVERSATIONS, "all are in mid-script")
            fails(network)
            held.let_go()
            wait_for(lambda: not fleet.running(), "redis hears nothing of orchestrator and worker")
            network.dead, network.delay_s = False, 0.0

            def ended() -> bool:
                held.let_go()  # one that has seemed lost for long enough is run again
                return all(fleet.transcript(name).terminal for name in names)

            wait_for(ended, "all have ended", BACK_WITHIN_S)
            answers = [fleet.result(name) for name in names]
    assert [(one.status, one.answer) for one in answers] == [("completed", "42")] * CONVERSATIONS
