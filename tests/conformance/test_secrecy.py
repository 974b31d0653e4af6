"""What a script can't reach: the network, the worker and its secrets, other skills, other runs."""

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.conformance import intruders, lone_worker, scripts
from tests.conformance.harness import Bench, eventually
from tests.conformance.outside import CALLS, Outside, servers
from tests.conformance.table import applies

from skillfleet_workers.runtimes.base import RuntimeUnavailableError
from skillfleet_workers.runtimes.warm.interpreter import SPARES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def outside(state_dir: Path) -> Iterator[Outside]:
    with servers(state_dir) as outside:
        yield outside


@applies("network")
def test_a_skill_that_asks_for_the_network_has_it(bench: Bench, outside: Outside) -> None:
    done = bench.run(CALLS, arguments=("tcp", outside.addresses["tcp"]), network="host")
    assert done.stdout == "reached\n"
    assert eventually(lambda: outside.heard == [("tcp", b"from the script")])


def assert_unreachable(bench: Bench, outside: Outside, kind: str) -> None:
    bench.run(CALLS, arguments=(kind, outside.addresses[kind]))
    call = [sys.executable, "-c", CALLS, kind, outside.addresses[kind]]
    assert subprocess.run(call, capture_output=True, check=True).stdout == b"reached\n"
    assert eventually(lambda: bool(outside.heard))
    # One of the two came through, and it was ours: the server tells them in their order.
    assert outside.heard == [(kind, b"from the script")]


@applies("secrecy")
class TestNamespaceOfTheNetwork:
    def test_sockets_that_lie_in_the_hosts_files_are_not_reachable(self, bench: Bench, outside: Outside) -> None:
        assert_unreachable(bench, outside, "path")

    def test_there_is_no_interface_but_its_own_loopback(self, bench: Bench) -> None:
        script = "import socket; print({name for _, name in socket.if_nameindex()} <= {'lo'})"
        assert bench.run(script).stdout == "True\n"


@applies("locks")
class TestNetwork:
    @pytest.mark.parametrize("kind", ["tcp", "udp", "abstract"])
    def test_nothing_of_the_host_is_reachable(self, bench: Bench, outside: Outside, kind: str) -> None:
        assert_unreachable(bench, outside, kind)

    def test_names_cannot_be_asked_for(self, bench: Bench) -> None:
        script = """
import socket
try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.connect(("192.0.2.1", 53))
        print(asker.send(b"?"))
except OSError:
    print("unreachable")
"""
        assert bench.run(script).stdout == "unreachable\n"


@applies("locks")
class TestTheWorker:
    def test_its_secrets_are_in_nothing_that_can_be_read(self, bench: Bench) -> None:
        secret = uuid.uuid4().hex
        command = lone_worker.command("tell", bench, intruders.SEES_PROCESSES)
        environment = {**os.environ, "LLM_API_KEY": secret, "SKILLFLEET_REDIS_URL": f"redis://:{secret}@nowhere"}
        told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        assert "environment [" in told.stdout
        assert secret not in told.stdout + told.stderr

    def test_the_memory_and_files_of_what_started_it_are_closed_to_it(self, bench: Bench) -> None:
        assert bench.run(intruders.READS_MEMORY).stdout == ""

    def test_its_files_are_closed_to_it(self, bench: Bench) -> None:
        secret = bench.folder / "secret"
        secret.write_text("secret")
        for what in ("read", "delete"):
            assert bench.run(intruders.TRIES, arguments=(what, str(secret))).stdout == "refused\n"
        bench.run(intruders.TRIES, arguments=("write", str(secret)))  # in a sandbox, a file of its own by that name
        assert secret.read_text() == "secret"


@applies("secrecy")
class TestKilling:
    def test_nothing_that_it_kills_harms_a_later_run(self, bench: Bench) -> None:
        with suppress(RuntimeUnavailableError):
            done = bench.run(intruders.KILLS_ALL_IT_CAN, timeout_s=10.0)
            assert (done.stdout, done.stderr.partition("Signal")[0]) in (("", ""), ("still here\n", ""))
        for _ in range(2 * SPARES):
            assert bench.run("print(1)").stdout == "1\n"

    def test_a_run_beside_it_is_not_killed_by_it(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(scripts.SLEEPER, cancelled=cancelled)
        with suppress(RuntimeUnavailableError):
            bench.run(intruders.KILLS_ALL_IT_CAN, timeout_s=10.0)
        assert not flight.done() and len(bench.up()) == 1
        cancelled.set()
        assert flight.result().status == "cancelled"


@applies("secrecy")
class TestCapabilities:
    def test_no_program_makes_it_more_than_it_is(self, bench: Bench) -> None:
        assert bench.run(intruders.BECOMES_ROOT).stdout.split()[::3] == ["True", "1"]
        assert bench.run(intruders.BECOMES_ROOT).stdout.split()[1] == "0"


@applies("locks")
class TestRights:
    @pytest.mark.parametrize("what", ["write", "delete", "link"])
    def test_its_own_skill_is_not_changed(self, bench: Bench, what: str) -> None:
        skill = bench.request("").skill_root
        (skill / "SKILL.md").write_text("as it was")
        skill.chmod(0o777)
        (skill / "SKILL.md").chmod(0o666)
        target = skill / ("new" if what == "link" else "SKILL.md")
        assert bench.run(intruders.TRIES, arguments=(what, str(target))).stdout == "refused\n"
        assert [(file.name, file.read_text()) for file in skill.iterdir()] == [("SKILL.md", "as it was")]

    @pytest.mark.parametrize("what", ["read", "write", "delete", "list"])
    def test_another_skill_does_not_exist_for_it(self, bench: Bench, what: str) -> None:
        other = bench.folder / "other-skill"
        other.mkdir()
        (other / "SKILL.md").write_text("another's")
        (other / "SKILL.md").chmod(0o666)
        target = other if what == "list" else other / "SKILL.md"
        assert bench.run(intruders.TRIES, arguments=(what, str(target))).stdout == "refused\n"
        assert (other / "SKILL.md").read_text() == "another's"

    def test_a_link_out_of_the_skill_leads_nowhere(self, bench: Bench) -> None:
        (bench.folder / "secret").write_text("secret")
        (bench.request("").skill_root / "link").symlink_to(bench.folder / "secret")
        assert bench.run(intruders.TRIES, arguments=("read", "link")).stdout == "refused\n"

    def test_a_script_that_is_a_link_out_of_the_skill_does_not_run(self, bench: Bench) -> None:
        (bench.folder / "outside.py").write_text("print('ran')")
        (bench.request("").skill_root / "inside.py").symlink_to(bench.folder / "outside.py")
        done = bench.run(Path("inside.py"))
        assert (done.success, done.stdout) == (False, "")


@applies("secrecy")
class TestTwoRuns:
    def test_what_an_ended_run_has_left_is_gone(self, bench: Bench) -> None:
        for _ in range(SPARES):  # whichever held the one, holds the other
            assert bench.run(intruders.LEAVES_TRACES).success
        for _ in range(SPARES):
            assert bench.run(intruders.FINDS_TRACES).stdout == ""

    def test_what_a_run_beside_it_has_is_not_seen(self, bench: Bench) -> None:
        cancelled = threading.Event()
        flight = bench.in_flight(intruders.LEAVES_TRACES + scripts.SLEEPER, cancelled=cancelled)
        found = bench.run(intruders.FINDS_TRACES)
        cancelled.set()
        assert (found.stdout, found.stderr) == ("", "")
        assert flight.result().status == "cancelled"
