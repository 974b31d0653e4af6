"""Little distributions of others, that processes of a test have installed."""

from collections.abc import Mapping
from pathlib import Path


def installed(folder: Path, module: str, source: str, entry_points: Mapping[str, str]) -> Path:
    """A folder for sys.path that holds the module and its distribution; `entry_points`: group to `name = what`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("".join(f"[{group}]\n{line}\n" for group, line in entry_points.items()))
    return folder
