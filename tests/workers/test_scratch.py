import subprocess
import sys
from pathlib import Path

from skillfleet_workers.scratch import scratch_folder

HOLDER = """
import sys
from pathlib import Path
from skillfleet_workers.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "left.txt").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder(parent: Path) -> "tuple[subprocess.Popen[str], Path]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_living_worker_is_left_alone(tmp_path: Path) -> None:
    process, folder = holder(tmp_path)
    with scratch_folder(tmp_path) as mine:
        assert mine != folder
        assert (folder / "left.txt").exists()
    process.communicate()
    assert process.returncode == 0
    assert not folder.exists()


def test_the_folder_of_a_killed_worker_is_removed_by_the_next(tmp_path: Path) -> None:
    process, folder = holder(tmp_path)
    assert (folder / "left.txt").exists()
    process.kill()
    process.communicate()
    with scratch_folder(tmp_path) as mine:
        assert not folder.exists()
        assert mine.is_dir()
    assert not list(tmp_path.iterdir())
