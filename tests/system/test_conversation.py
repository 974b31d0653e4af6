"""A conversation through all the real parts: model server over HTTP, redis, orchestrator and worker processes."""

from pathlib import Path

from tests.system.conftest import WORKERS, Shared
from tests.system.fleet import Place, running_fleet, wait_for
from tests.system.replies import Held, call, holding, python
from tests.system.servers import RedisServer

from skillfleet.conversations.messages import Message, transcript_problem
from skillfleet.fleet import Fleet
from skillfleet_workers.runtimes.isolation import sandbox_trouble
from skillfleet_workers.wire.celery import make_celery
from skillfleet_workers.wire.execution import ScriptExecution

THREE_TURNS = (
    [call("list_skills", "skills")],
    [python("print(6 * 7)", "six"), python("import os; print(os.environ['SKILL_NAME'])", "name")],
    "It is ${six.stdout}, says ${name.stdout}.",
)


def executions(place: Place, fleet: Fleet, conversation_id: str) -> list[ScriptExecution]:
    """What the result backend holds of the conversation's scripts."""
    app = make_celery(place.settings)
    runs = fleet.transcript(conversation_id).runs
    results = [app.AsyncResult(run.ref.task_id) for run in runs if run.name == "run_python_script"]
    # Celery writes the result after the ledger has it: the conversation may be further.
    wait_for(lambda: all(result.ready() for result in results), "the results are in the backend")
    return [ScriptExecution.model_validate(result.result) for result in results]


def test_three_turns_end_in_an_answer_made_of_what_the_tools_brought(shared: Shared) -> None:
    model = shared.provider.plays(*THREE_TURNS)
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("How much is 6 * 7?", model=model))
        transcript = fleet.transcript(report.id)

    assert report.error is None
    assert (report.status, report.answer, report.turns) == ("completed", "It is 42, says lab.", 3)
    assert [made.status for made in report.tool_calls] == ["succeeded"] * 3
    assert report.usage.input_tokens > 0
    assert transcript_problem(transcript.messages) is None


def test_every_request_to_the_provider_is_a_valid_list_that_goes_on_from_the_last(shared: Shared) -> None:
    model = shared.provider.plays(*THREE_TURNS)
    with shared.place.fleet() as fleet:
        fleet.result(fleet.submit("How much is 6 * 7?", model=model))

    requests = shared.provider.received(model)
    assert [request.status for request in requests] == [200, 200, 200]
    lists = [request.body["messages"] for request in requests]
    assert [len(messages) for messages in lists] == [2, 4, 7]
    assert lists[1][:2] == lists[0]
    assert lists[2][:4] == lists[1]
    for messages in lists:
        assert transcript_problem(tuple(Message.model_validate(message) for message in messages)) is None


def test_the_result_backend_holds_the_whole_execution_of_every_script(shared: Shared) -> None:
    model = shared.provider.plays(*THREE_TURNS)
    with shared.place.fleet() as fleet:
        report = fleet.result(fleet.submit("How much is 6 * 7?", model=model))
        six, name = executions(shared.place, fleet, report.id)

    assert (six.stdout, six.returncode, six.success, six.script) == ("42\n", 0, True, "print(6 * 7)")
    assert name.stdout == "lab\n"
    held_by = ("process", "process") if sandbox_trouble() else ("warm", "sandbox")
    assert (six.skill_name, six.attempt, six.runtime, six.isolation) == ("lab", 1, *held_by)
    # The copy in the state that the conversation began with, which never changes.
    assert Path(six.working_directory) in (shared.place.state_dir / "kept").glob("*/lab")
    assert Path(six.interpreter).exists()
    assert six.worker == report.tool_calls[1].worker
    for measured in (six.execution_time_ms, six.startup_ms, six.queued_ms, six.timeout):
        assert measured > 0


def test_the_calls_of_one_turn_run_at_once_on_workers_that_run_one_each(shared: Shared) -> None:
    held = Held()
    model = shared.provider.plays([holding(held) for _ in range(WORKERS)], "Met.")
    with shared.place.fleet() as fleet:
        name = fleet.submit("Meet.", model=model)
        wait_for(lambda: len(held.pids()) == WORKERS, "all run at once")
        held.let_go()
        report = fleet.result(name)

    assert report.answer == "Met."
    assert [made.status for made in report.tool_calls] == ["succeeded"] * WORKERS
    assert len({made.worker for made in report.tool_calls}) == WORKERS


def test_conversations_do_not_wait_for_each_others_tools(shared: Shared) -> None:
    held = Held()
    model = shared.provider.plays([holding(held, "a")], "${a.stdout}")
    with shared.place.fleet() as fleet:
        names = [fleet.submit("Meet.", model=model) for _ in range(WORKERS)]
        wait_for(lambda: len(held.pids()) == WORKERS, "all run at once")
        held.let_go()
        assert [fleet.result(name).answer for name in names] == ["holding\nlet go"] * WORKERS


def test_an_orchestrator_of_one_slot_keeps_none_while_tools_run(place: Place) -> None:
    with RedisServer(place.folder / "redis") as server:
        here = Place(place.folder, {"SKILLFLEET_REDIS_URL": server.url, "SKILLFLEET_SLOTS": "1"})
        held = Held()
        model = here.script([holding(held, "a")], "${a.stdout}")
        with running_fleet(here, workers=1, concurrency=3), here.fleet() as fleet:
            names = [fleet.submit("Meet.", model=model) for _ in range(3)]
            wait_for(lambda: len(held.pids()) == 3, "all run at once")
            held.let_go()
            assert [fleet.result(name).answer for name in names] == ["holding\nlet go"] * 3
