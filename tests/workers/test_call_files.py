"""Files of conversations on a worker, from the store to a run and from a run into the store."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.conformance.harness import eventually
from tests.conformance.ledgers import RedisWorld, claimed, commit_steps, submitted
from tests.conversation_steps import asks, run_python
from tests.workers.skill_folders import write_skill
from tests.workers.toolboxes import toolbox_in

from skillfleet.conversations.moves import Submitted
from skillfleet_workers.call_files import CallFiles
from skillfleet_workers.heartbeat import Heartbeat
from skillfleet_workers.settings import WorkerSettings
from skillfleet_workers.skills.watching import Watching
from skillfleet_workers.tasks import CallRunner, tool_tasks
from skillfleet_workers.tidying import Tidying
from skillfleet_workers.tools import Toolbox
from skillfleet_workers.wire.calls import CallLedger, CallResult
from skillfleet_workers.wire.connection import FleetSettings, RedisUrls, SettingsError
from skillfleet_workers.wire.contract import RUN_PYTHON, CallMessage, CallRef, ToolError
from skillfleet_workers.wire.execution import ScriptExecution
from skillfleet_workers.wire.files import MAX_INPUT_FILES, StoredFile
from skillfleet_workers.wire.store import ArtifactStore, StoreError
from skillfleet_workers.workshop import workshop

DAY_S = 86_400.0
PNG = b"\x89PNG\r\n\x1a\n"
DRAWS = f"""
import os
given = open(os.path.join(os.environ["SKILLFLEET_INPUT_DIR"], "data.csv")).read()
with open(os.path.join(os.environ["SKILLFLEET_OUTPUT_DIR"], "chart.jpg"), "wb") as file:
    file.write({PNG!r} + given.encode())
"""


@pytest.fixture
def files(tmp_path: Path) -> CallFiles:
    return CallFiles(ArtifactStore.of(FleetSettings(state_dir=tmp_path)), tmp_path / "inputs")


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("files")
    write_skill(folder / "skills" / "lab", {"SKILL.md": "---\nname: lab\ndescription: For tests.\n---\nWords."})
    with toolbox_in(folder) as (made, _):
        yield made


def paths(found: dict[str, Path] | ToolError) -> dict[str, Path]:
    assert isinstance(found, dict), found
    return found


def refused(found: dict[str, Path] | ToolError) -> str:
    assert isinstance(found, ToolError), found
    return found.error


def age(file: Path, seconds: float) -> None:
    os.utime(file, (time.time() - seconds,) * 2)


class TestInputs:
    def test_are_fetched_once_a_day(self, files: CallFiles, tmp_path: Path) -> None:
        stored = files.store.put_bytes(b"a,b", "data.csv")
        first = paths(files.inputs([stored]))["data.csv"]
        assert first.read_bytes() == b"a,b"
        files.store.prune(-DAY_S)
        assert paths(files.inputs([stored])) == {"data.csv": first}
        age(first, 2 * DAY_S)
        assert refused(files.inputs([stored])) == "input_expired"

    def test_in_use_stay_young_in_the_store(self, files: CallFiles) -> None:
        stored = files.store.put_bytes(b"a,b", "data.csv")
        age(paths(files.inputs([stored]))["data.csv"], 2 * DAY_S)
        assert files.inputs([stored])
        assert files.store.prune(DAY_S) == 0

    @pytest.mark.parametrize("digest", ["a" * 64, "../secret", "../../etc/passwd", ""])
    def test_that_are_not_in_the_store_are_told_of(self, files: CallFiles, tmp_path: Path, digest: str) -> None:
        (tmp_path / "secret").write_text("secret")
        (tmp_path / "inputs").mkdir()
        wanted = StoredFile(name="data.csv", digest=digest, bytes=1, media_type="text/csv")
        assert refused(files.inputs([wanted])) == "input_expired"

    def test_are_not_more_than_a_conversation_may_have(self, files: CallFiles) -> None:
        stored = files.store.put_bytes(b"a", "a")
        many = [stored.model_copy(update={"name": str(number)}) for number in range(MAX_INPUT_FILES + 1)]
        assert refused(files.inputs(many)) == "inputs_too_large"
        assert refused(files.inputs([stored.model_copy(update={"bytes": 1 << 40})])) == "inputs_too_large"

    def test_that_nobody_asks_for_and_that_are_too_much_go(self, tmp_path: Path) -> None:
        far = ArtifactStore.of(FleetSettings(artifacts_url=f"memory://{tmp_path}", state_dir=tmp_path))
        files = CallFiles(far, tmp_path / "inputs", most_bytes=10)
        fetched = {name: paths(files.inputs([far.put_bytes(name * 6, "a")]))["a"] for name in (b"a", b"b", b"c")}
        age(fetched[b"a"], 3 * DAY_S)
        age(fetched[b"b"], 3600)
        files.prune()
        assert [name for name, file in fetched.items() if file.exists()] == [b"c"]
        CallFiles(far, tmp_path / "nowhere").prune()


def test_a_worker_whose_store_cannot_be_does_not_start(tmp_path: Path) -> None:
    settings = WorkerSettings(artifacts_url="nosuch://bucket", state_dir=tmp_path, skills_folder=tmp_path)
    with Watching(()) as watching, pytest.raises(SettingsError, match=r"^SKILLFLEET_ARTIFACTS_URL: nosuch://bucket"):
        workshop(settings, tmp_path, watching, lambda _: None)


def test_what_is_old_is_removed_at_the_start_and_then_time_and_again() -> None:
    done: list[int] = []

    def fails() -> None:
        raise StoreError("it is away")

    tidying = Tidying((fails, lambda: done.append(1)), every_s=0.001)
    tidying.start()
    assert eventually(lambda: len(done) > 2)
    tidying.close()


class TestACall:
    @pytest.fixture
    def world(self, redis_urls: RedisUrls) -> Iterator[RedisWorld]:
        """With the one call of a turn out."""
        world = RedisWorld(redis_urls)
        with world.client, world.ledger.client:
            submitted(world)
            commit_steps(world, claimed(world), Submitted(), asks(run_python()), due_in=60)
            yield world

    def run(
        self, world: RedisWorld, toolbox: Toolbox, files: CallFiles, *handed: StoredFile
    ) -> tuple[ScriptExecution, CallResult]:
        """What the result backend gets, and what the ledger has."""
        ledger = CallLedger(world.client)
        runner = CallRunner(ledger, Heartbeat(ledger), "w1", files=files)
        tools: dict[Any, Any] = dict(tool_tasks(toolbox)[1])
        request = {"skill_name": "lab", "script": DRAWS}
        message = CallMessage(ref=CallRef(conversation_id="c1", turn=1, index=0), request=request, files=handed)
        raw = runner.run(RUN_PYTHON, tools[RUN_PYTHON], message)
        kept = cast(dict[str, str], world.client.hgetall("skillfleet:{c1}:calls"))
        return ScriptExecution.model_validate(raw), CallResult.model_validate_json(kept["1.0:result"])

    def test_has_its_inputs_and_its_artifacts_come_into_the_store(
        self, world: RedisWorld, toolbox: Toolbox, files: CallFiles
    ) -> None:
        run, recorded = self.run(world, toolbox, files, files.store.put_bytes(b"a,b", "data.csv"))
        assert (run.status, run.stderr) == ("succeeded", "")
        (artifact,) = run.artifacts
        assert recorded.artifacts == run.artifacts
        assert (artifact.path, artifact.bytes, artifact.media_type) == ("chart.jpg", 11, "image/png")
        assert files.store.read(artifact.digest) == Path(artifact.location).read_bytes() == PNG + b"a,b"
        assert json.loads(recorded.shown)["artifacts"] == [
            {"path": "chart.jpg", "bytes": 11, "media_type": "image/png"}
        ]

    def test_has_its_result_though_the_store_does_not_take_what_it_brings(
        self, world: RedisWorld, toolbox: Toolbox, files: CallFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        handed = files.store.put_bytes(b"a,b", "data.csv")
        assert files.inputs([handed])
        (tmp_path / "a file").touch()
        broken = ArtifactStore.of(FleetSettings(artifacts_url=str(tmp_path / "a file"), state_dir=tmp_path))
        run, recorded = self.run(world, toolbox, CallFiles(broken, tmp_path / "inputs"), handed)
        assert run.status == recorded.status == "succeeded"
        assert [(one.path, one.digest) for one in recorded.artifacts] == [("chart.jpg", "")]
        assert "chart.jpg is on this worker alone: the artifact store" in caplog.text

    def test_whose_inputs_are_gone_is_told_so(self, world: RedisWorld, toolbox: Toolbox, files: CallFiles) -> None:
        gone = StoredFile(name="data.csv", digest="a" * 64, bytes=1, media_type="text/csv")
        ledger = CallLedger(world.client)
        runner = CallRunner(ledger, Heartbeat(ledger), "w1", files=files)
        request = {"skill_name": "lab", "script": "print(1)"}
        message = CallMessage(ref=CallRef(conversation_id="c1", turn=1, index=0), request=request, files=(gone,))
        raw = runner.run(RUN_PYTHON, lambda *_: pytest.fail("it was run"), message)
        assert (raw["error"], "'data.csv'" in raw["message"]) == ("input_expired", True)
