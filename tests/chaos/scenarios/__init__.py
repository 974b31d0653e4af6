"""Every other fault, by name; each runs alone."""

from .clocks import clock_an_hour_off
from .families import families_killed
from .messages import every_message_twice
from .models import moody_model
from .network import half_open, latency
from .plans import plans_killed
from .poison import poison_call
from .processes import rolling_sigterm, sandbox_killed, stopped_orchestrator, stopped_worker
from .redis_faults import broker_flushed, client_kill_storm, client_pause, out_of_memory
from .scenario import Scenario

_ALL: tuple[Scenario, ...] = (
    rolling_sigterm, sandbox_killed, stopped_worker, stopped_orchestrator,
    broker_flushed, out_of_memory, client_kill_storm, client_pause,
    half_open, latency, every_message_twice, poison_call, moody_model, clock_an_hour_off,
    families_killed, plans_killed,
)  # fmt: skip

SCENARIOS: dict[str, Scenario] = {scenario.__name__.replace("_", "-"): scenario for scenario in _ALL}
