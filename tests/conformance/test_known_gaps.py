"""What docs/security.md says is open is open: a gap that was closed is to be told."""

from pathlib import Path

from tests.conformance.harness import Bench
from tests.conformance.outside import CALLS, servers
from tests.conformance.table import FRESH, applies


@applies("clean start")
class TestKnownGaps:
    def test_forks_of_one_interpreter_share_hash_seed_and_addresses(self, bench: Bench) -> None:
        told = {bench.run("print(hash('a'), id(print))").stdout for _ in range(3)}
        assert len(told) == (3 if bench.name in FRESH else 1)

    def test_a_fresh_interpreter_shares_neither(self, bench: Bench) -> None:
        told = {bench.run("print(hash('a'), id(print))", fresh_interpreter=True).stdout for _ in range(3)}
        assert len(told) == 3

    def test_only_a_plain_process_reaches_sockets_that_lie_in_files(self, bench: Bench, state_dir: Path) -> None:
        with servers(state_dir) as outside:
            told = bench.run(CALLS, arguments=("path", outside.addresses["path"])).stdout
        assert told == ("reached\n" if bench.name == "process" else "refused\n")
