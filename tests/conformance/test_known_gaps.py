"""What docs/security.md says is open is open: a gap that was closed is to be told."""

from tests.conformance import intruders
from tests.conformance.harness import Bench
from tests.conformance.table import applies


@applies("clean start")
class TestKnownGaps:
    def test_forks_of_one_interpreter_share_hash_seed_and_addresses(self, bench: Bench) -> None:
        told = {bench.run("print(hash('a'), id(print))").stdout for _ in range(3)}
        assert len(told) == (3 if bench.name == "process" else 1)

    def test_a_fresh_interpreter_shares_neither(self, bench: Bench) -> None:
        told = {bench.run("print(hash('a'), id(print))", fresh_interpreter=True).stdout for _ in range(3)}
        assert len(told) == 3

    def test_only_a_plain_process_reads_what_its_worker_can_read(self, bench: Bench) -> None:
        secret = bench.folder / "secret"
        secret.write_text("secret")
        told = bench.run(intruders.TRIES, arguments=("read", str(secret))).stdout
        assert told == ("got b'secret'\n" if bench.name == "process" else "refused\n")
