"""Between the fleet and redis."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..crew import Crew
from ..proxy import Proxy
from .scenario import Verdict
from .siege import Siege, besieged


def half_open(_: random.Random, full: bool) -> Verdict:
    """Every connection falls silent at once and is never closed; new ones work some seconds later."""
    with _through_a_proxy() as (siege, proxy):
        siege.submit(40 if full else 12)
        siege.in_the_midst()
        proxy.fall_silent()
        time.sleep(20.0 if full else 4.0)
        proxy.speak()
        siege.all_end()
        siege.verdict.facts.append(f"{proxy.swallowed} bytes swallowed")
    return siege.verdict


def latency(_: random.Random, full: bool) -> Verdict:
    """Every answer of redis takes seconds, for a while."""
    with _through_a_proxy() as (siege, proxy):
        siege.submit(20 if full else 8)
        siege.in_the_midst()
        proxy.delay_s = 2.5 if full else 1.0
        time.sleep(30.0 if full else 8.0)
        proxy.delay_s = 0.0
        siege.all_end()
    return siege.verdict


@contextmanager
def _through_a_proxy() -> Iterator[tuple[Siege, Proxy]]:
    made: list[Proxy] = []

    def through(crew: Crew) -> str:
        made.append(Proxy(crew.redis.port))
        made[0].start()
        return made[0].url

    with besieged(through=through) as siege:
        yield siege, made[0]
    made[0].close()
