"""submit --record FILE."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from ..errors import BadRequestError


def check_recording(path: Path, *, detach: bool, batch: bool) -> None:
    """
    Raises:
        BadRequestError: it could not be written when the conversation has ended.
    """
    if detach or batch:
        raise BadRequestError("--record goes with one PROMPT that is waited for, without --detach and --batch")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise BadRequestError(f"--record: {path} can't be written; name a file in a folder that is there")


def write_recording(recording: dict[str, Any], path: Path) -> None:
    """Whole or not at all; for the eyes of its owner only: it holds what the scripts wrote."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(recording, file, ensure_ascii=False, indent=1)
            file.write("\n")
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise
