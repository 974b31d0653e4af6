"""What the bench sends to workers itself is what they would do for an orchestrator."""

from bench.fleet import ToolCalls

from skillfleet.settings import OrchestratorSettings
from skillfleet_workers.wire.calls import CallLedger
from skillfleet_workers.wire.connection import RedisUrls


def test_workers_begin_the_calls_that_the_bench_wants(redis_urls: RedisUrls) -> None:
    (ref,) = ToolCalls(OrchestratorSettings(redis_url=redis_urls.url)).wanted(1)
    with redis_urls.client() as client:
        assert CallLedger(client).claim(ref, "w1") == "claimed"
