"""Which runtime a run gets."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from skillfleet_workers.runtimes.base import RunRequest, RuntimeChoice
from skillfleet_workers.runtimes.choice import ChosenRuntime, Offer, chosen
from skillfleet_workers.wire.execution import Isolation, ScriptExecution


class Recorder:
    """A runtime that runs nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[RunRequest] = []

    def run(self, request: RunRequest) -> ScriptExecution:
        self.asked.append(request)
        return ScriptExecution(status="succeeded", runtime=self.name)

    def close(self) -> None: ...


def offers(*names: str) -> Mapping[str, Offer]:
    held: dict[str, Isolation] = {"process": "process", "warm": "sandbox", "container": "container"}
    return {name: Offer(Recorder(name), held[name]) for name in names}


def request(runtime: RuntimeChoice = "auto") -> RunRequest:
    return RunRequest("s", Path("/"), Path("/bin/python"), "print(1)", {}, 1, runtime=runtime)


@pytest.mark.parametrize(
    ("choice", "has", "minimum", "gets"),
    [
        ("auto", ["process", "warm", "container"], "process", "warm"),
        ("auto", ["process", "container"], "process", "process"),
        ("auto", ["process", "container"], "sandbox", "container"),
        ("auto", ["process", "warm", "container"], "container", "container"),
        ("auto", ["process"], "sandbox", None),
        ("process", ["process", "warm"], "process", "warm"),
        ("process", ["process"], "none", "process"),
        ("warm", ["process"], "process", None),
        ("container", ["process", "warm"], "process", None),
    ],
)
def test_the_fastest_that_satisfies_the_policy_and_the_skill(
    choice: RuntimeChoice, has: list[str], minimum: Isolation, gets: str | None
) -> None:
    assert chosen(choice, offers(*has), minimum) == gets


def test_a_skill_that_wants_a_process_gets_a_fresh_interpreter_in_the_sandbox() -> None:
    has = offers("process", "warm")
    assert ChosenRuntime(lambda: has, "process").run(request("process")).runtime == "warm"
    warm = has["warm"].runtime
    assert isinstance(warm, Recorder) and [asked.fresh_interpreter for asked in warm.asked] == [True]


def test_what_no_runtime_satisfies_is_refused_with_the_reason_and_nothing_runs() -> None:
    has = offers("process")
    runtime = ChosenRuntime(lambda: has, "sandbox")
    done = runtime.run(request())
    assert (done.status, done.returncode) == ("failed", None)
    for word in ("nothing ran", "SKILLFLEET_MIN_ISOLATION", "'sandbox'", "process (process)", "skillfleet doctor"):
        assert word in (done.error or "")
    assert runtime.refusal and not ChosenRuntime(lambda: has, "process").refusal
