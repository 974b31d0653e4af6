"""What is printed of a hop."""

from skillfleet.settings import OrchestratorSettings

from .hop import INSIDE_LUA, PARTS, Hops, measure_hops
from .measure import heading, listed, row, summary

MEANING = {
    "sent": "published, and task-sent told",
    "received": "taken from the broker by the worker",
    "begun": "handed to a thread of the pool",
    "claimed": "claimed (Lua)",
    "ran": "the tool has run",
    "committed": "committed (Lua)",
    "known": "read by a follower",
    "returned": "the task has returned",
    "stored": "result written to the result backend",
}
BEFORE = {"sent": "", "received": "", "known": "committed", "returned": "committed", "stored": "returned"}
"""What a part follows, where that is not the one before it."""


def hop_by_part(settings: OrchestratorSettings, rounds: int, times: int) -> None:
    hops, took = measure_hops(settings, rounds, times)
    heading("One hop through Celery, list_skills, one at a time until the result is known (ms)")
    for name, samples in took.items():
        print(row(name, summary(samples), "ms"))
    heading("The hop as shipped, by part (ms since the send began, median; what came between)")
    _print_timeline(hops["as shipped"].timeline())
    heading("Redis commands a hop (INFO commandstats)")
    for name, one in hops.items():
        _print_commands(name, one)


def _print_timeline(at: dict[str, float]) -> None:
    for part, last in zip(PARTS, ("", *PARTS), strict=False):
        since = at.get(BEFORE.get(part, last), 0.0)
        print(f"  {MEANING[part]:<38}{at[part]:>7.2f}  {at[part] - since:>+6.2f}")


def _print_commands(name: str, hop: Hops) -> None:
    outside = {command: calls for command, calls in hop.commands.items() if command not in INSIDE_LUA}
    print(f"  {name:<18}{sum(outside.values()):>5.1f} sent: {listed(outside)}")
