"""What a run hands back: its own files, whatever it has made of its output folder."""

import json
from pathlib import Path

import pytest
from tests.conformance.harness import Bench
from tests.conformance.table import applies

OUTPUT = "import os, shutil; output = os.environ['SKILLFLEET_OUTPUT_DIR']\n"


@pytest.fixture
def secret(bench: Bench) -> Path:
    """The worker's, where a sandbox sees nothing."""
    folder = bench.folder / "the-worker's"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder / "secret"


def kept(bench: Bench, script: str) -> dict[str, int]:
    """Name and mode of what was handed back; the result can be told."""
    done = bench.run(OUTPUT + script, keep=bench.folder / "kept")
    assert (done.status, done.stderr) == ("succeeded", "")
    json.loads(done.model_dump_json())
    return {artifact.path: Path(artifact.location).stat().st_mode & 0o7777 for artifact in done.artifacts}


@applies("secrecy")
class TestArtifacts:
    @pytest.mark.parametrize("aside", ["os.rmdir(output)", "os.rename(output, output + '-')"])
    def test_a_link_in_the_place_of_its_output_hands_nothing_over(
        self, bench: Bench, secret: Path, aside: str
    ) -> None:
        assert kept(bench, f"{aside}\nos.symlink({str(secret.parent)!r}, output)") == {}
        assert secret.read_text() == "secret"

    def test_links_among_its_files_hand_nothing_over(self, bench: Bench, secret: Path) -> None:
        links = (
            f"os.symlink({str(secret)!r}, output + '/file'); os.symlink({str(secret.parent)!r}, output + '/folder')"
        )
        assert kept(bench, links) == {}
        assert secret.read_text() == "secret"

    def test_what_is_handed_over_makes_nobody_more_than_he_is(self, bench: Bench) -> None:
        found = kept(bench, "shutil.copy('/usr/bin/id', output); os.chmod(output + '/id', 0o6777)")
        assert {name: mode & 0o7000 for name, mode in found.items()} == {"id": 0}

    def test_a_name_that_is_no_text_is_left_out(self, bench: Bench) -> None:
        assert set(kept(bench, "open(output.encode() + b'/\\xff', 'w'); open(output + '/a', 'w')")) == {"a"}

    def test_folders_without_end_are_no_end_of_the_worker(self, bench: Bench) -> None:
        deep = "open(output + '/a', 'w'); os.chdir(output)\nfor _ in range(2000):\n    os.mkdir('d'); os.chdir('d')"
        assert set(kept(bench, deep)) == {"a"}

    def test_pipes_and_sockets_are_left_out(self, bench: Bench) -> None:
        other = "import socket; os.mkfifo(output + '/pipe'); socket.socket(1).bind(output + '/socket')"
        assert kept(bench, other) == {}
