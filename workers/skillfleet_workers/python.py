"""The interpreter that everything of a worker's own is built on."""

import os
import sys
from pathlib import Path


def base_interpreter() -> Path:
    """The one outside of this process's own virtual environment."""
    return Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
