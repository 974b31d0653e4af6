"""Each fault, alone, in its short form: what was accepted ends, once and well."""

import random

import pytest
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.scenarios.clocks import missing
from tests.conftest import Require

QUICK = ("broker-flushed", "every-message-twice")


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.quick if name in QUICK else ()) for name in SCENARIOS]
)
def test_conversations_survive(name: str, require: Require) -> None:
    if name == "clock-an-hour-off":
        require(not missing(), missing())
    verdict = SCENARIOS[name](random.Random(1), False)
    assert verdict.sound, verdict
