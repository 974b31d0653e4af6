"""A person in the loop of a real fleet: leave, answers, and nobody there."""

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.system.fleet import COMMAND, PATIENCE_S, Place, wait_for, wait_until_known
from tests.system.replies import call, python
from tests.system.standing_fleet import StandingFleet, standing_fleet

from skillfleet.conversations.report import Report
from skillfleet.errors import BadRequestError

README = (Path(__file__).parents[2] / "README.md").read_text()
(README_EXAMPLE,) = re.findall(r"```sh\n(skillfleet submit --ask .*\n.*)\n```", README)

ASK = "ask:run_python_script"
RUNNING = ([python("print(6 * 7)", "six")], "It is ${six.stdout}.")
ASKING = ([call("ask_user", "colour", question="Which colour?")], "Painted it ${colour}.")


@pytest.fixture(scope="module")
def fleet() -> Iterator[StandingFleet]:
    with TemporaryDirectory(prefix="sf-", dir="/tmp") as folder, standing_fleet(Path(folder)) as started:
        started.orchestrator()
        started.worker()
        yield started


def waits(place: Place, name: str) -> Report:
    with place.fleet() as api:
        wait_for(lambda: api.status(name).status == "waiting", "it waits for a person")
        return api.status(name)


class Typist:
    """`submit --follow` on a terminal of its own."""

    def __init__(self, place: Place, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *COMMAND, *arguments], cwd=place.folder, stdin=slave, stderr=slave,
            stdout=subprocess.PIPE, text=True, env=place.environment({"TERM": "xterm", "COLUMNS": "200"}),
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def sees(self, text: str) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            if time.monotonic() > give_up:
                pytest.fail(f"the terminal never said {text!r}: {self.seen}")
            if select.select([self._master], [], [], 0.1)[0]:
                self.seen += os.read(self._master, 4096).decode()

    def types(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def answer(self) -> str:
        with self.process:
            told, _ = self.process.communicate(timeout=PATIENCE_S)
        os.close(self._master)
        return str(told)


def test_an_approval_outlives_a_restart_of_everything(fleet: StandingFleet) -> None:
    with fleet.place.fleet() as api:
        name = api.submit("How much is 6 * 7?", model=fleet.place.script(*RUNNING), rules=[ASK])
    (asked,) = waits(fleet.place, name).waiting_for
    assert (asked.key, asked.kind, asked.arguments["script"]) == ("1.0", "approval", "print(6 * 7)")
    for (victim,) in fleet.started.values():
        assert victim.poll() is None
        victim.kill()
        victim.wait(PATIENCE_S)
    fleet.server.kill()
    fleet.server.start()
    fleet.orchestrator()
    fleet.worker()
    assert waits(fleet.place, name).waiting_for == (asked,)
    done = fleet.place.cli("approve", name)
    assert (done.returncode, done.stdout) == (0, f"{name}: approved 1.0 run_python_script\n")
    with fleet.place.fleet() as api:
        report = api.result(name)
        assert (report.status, report.answer) == ("completed", "It is 42.")


def test_a_denial_is_told_the_model_with_its_reason_and_a_second_word_is_refused(fleet: StandingFleet) -> None:
    model = fleet.place.script([python("print(1)", "one")], "Not done: ${one}")
    with fleet.place.fleet() as api:
        name = api.submit("Print.", model=model, rules=[ASK])
        waits(fleet.place, name)
        assert api.deny(name, reason="It costs too much.") == ("1.0",)
        report = api.result(name)
        assert report.answer is not None
        assert "denied_by_person" in report.answer
        assert "It costs too much." in report.answer
        with pytest.raises(BadRequestError, match="decided before"):
            api.approve(name, "1.0")


def test_the_last_rule_on_the_command_line_decides(fleet: StandingFleet) -> None:
    model = fleet.place.script([python("print(1)", "one")], "Said: ${one}")
    done = fleet.place.cli("submit", "--deny", "*@lab", "--allow", "list_skills", "--model", model, "Print.")
    assert (done.returncode, "denied_by_policy" in done.stdout) == (0, True)
    done = fleet.place.cli("submit", "--deny", "*@lab", "--allow", "run_*", "--model", model, "Print.")
    assert (done.returncode, "denied_by_policy" in done.stdout) == (0, False)


def test_a_question_is_answered_on_the_terminal_that_follows(fleet: StandingFleet) -> None:
    model = fleet.place.script(*ASKING)
    typist = Typist(fleet.place, "submit", "--follow", "--ask-user", "--model", model, "Paint it.")
    typist.sees("Which colour?")
    typist.sees("Answer: ")
    typist.types("blue")
    assert typist.answer() == "Painted it blue.\n"


def test_leave_is_given_on_the_terminal_which_shows_the_whole_call(fleet: StandingFleet) -> None:
    model = fleet.place.script(*RUNNING)
    typist = Typist(fleet.place, "submit", "--follow", "--ask", "run_python_script@lab", "--model", model, "6 * 7?")
    typist.sees("print(6 * 7)")
    typist.sees("Approve? [y/n] ")
    typist.types("perhaps")
    typist.seen = ""
    typist.sees("Approve? [y/n] ")
    typist.types("y")
    assert typist.answer() == "It is 42.\n"


def test_a_follower_stops_asking_what_was_decided_elsewhere(fleet: StandingFleet) -> None:
    with fleet.place.fleet() as api:
        name = api.submit("Paint it.", model=fleet.place.script(*ASKING), ask_user=True)
        waits(fleet.place, name)
        typist = Typist(fleet.place, "follow", name)
        typist.sees("Answer: ")
        done = fleet.place.cli("answer", name, "-", stdin="red")
        assert (done.returncode, done.stdout) == (0, f"{name}: answered 1.0 ask_user\n")
        typist.sees("answered: red")
        assert typist.answer() == "Painted it red.\n"


def test_where_nobody_can_be_asked_the_command_is_told_as_the_readme_has_it(fleet: StandingFleet) -> None:
    submitting, approving = (shlex.split(line)[1:] for line in README_EXAMPLE.splitlines())
    submit = fleet.place.start(*submitting, "--model", fleet.place.script(*RUNNING))
    wait_for(lambda: "waits for a person" in fleet.place.log("submit"), "it says so")
    (line,) = fleet.place.log("submit").splitlines()
    name = line.split()[1]
    command = f"`skillfleet approve {name} 1.0`"
    assert command in line
    assert command in fleet.place.cli("list").stdout
    assert command in fleet.place.cli("status", name).stdout
    wrong = fleet.place.cli("answer", name, "yes", "--call", "1.0")
    assert (wrong.returncode, "waits for another word" in wrong.stderr) == (2, True)
    assert fleet.place.cli(*[name if word == "ID" else word for word in approving]).returncode == 0
    answer, _ = submit.communicate(timeout=PATIENCE_S)
    assert (submit.returncode, answer) == (0, "It is 42.\n")


def test_who_waits_too_long_for_a_person_is_expired(fleet: StandingFleet) -> None:
    model = fleet.place.script(*ASKING)
    done = fleet.place.cli("submit", "--ask-user", "--person-timeout", "0.5", "--model", model, "Paint it.")
    assert done.returncode == 4
    assert "--person-timeout" in done.stderr


def test_a_fleet_of_one_s_own_waits_too_and_says_so(place: Place) -> None:
    submit = place.start("submit", "--ask-user", "--model", place.script(*ASKING), "Paint it.")
    wait_for(lambda: "waits for a person" in place.log("submit"), "it says so")
    (name,) = [word for word in place.log("submit").split() if word.startswith("0")][:1]
    assert place.cli("answer", name, "green").returncode == 0
    answer, _ = submit.communicate(timeout=PATIENCE_S)
    assert (submit.returncode, answer) == (0, "Painted it green.\n")


def test_an_interrupt_ends_a_follower_that_asks(fleet: StandingFleet) -> None:
    model = fleet.place.script(*ASKING)
    typist = Typist(fleet.place, "submit", "--follow", "--ask-user", "--model", model, "Paint it.")
    typist.sees("Answer: ")
    typist.process.send_signal(signal.SIGINT)
    typist.sees("detached")
    typist.answer()
    assert typist.process.returncode == 130


def test_who_follows_a_parent_is_asked_what_its_child_waits_for(fleet: StandingFleet) -> None:
    text = "---\nname: digging\ndescription: Digs.\ncontext: fork\n---\nDig.\n"
    fleet.place.add_skill("digging", {"SKILL.md": text})
    wait_until_known(fleet.place, "digging")
    model = fleet.place.script([call("skill", "dug", name="digging")], "${dug}", children={"digging": ASKING})
    typist = Typist(fleet.place, "submit", "--follow", "--ask-user", "--model", model, "Dig.")
    typist.sees("Which colour?")
    typist.sees("Answer: ")
    typist.types("brown")
    assert typist.answer() == "Painted it brown.\n"
