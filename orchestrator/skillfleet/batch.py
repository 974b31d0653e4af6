"""A file of JSON lines, each of them a conversation to submit."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from skillfleet_workers.wire.contract import DEFAULT_TENANT

from .errors import BadRequestError
from .handed import HandedFile, read_handed
from .submission import Submission


def read_batch(path: Path, defaults: dict[str, Any] | None = None, name: str = "") -> list[Submission]:
    """Every line, checked; `defaults` hold where a line says nothing else. A line without an idempotency key gets one
    from what it says and the files that it names, so that the same file submitted again goes on where it stopped;
    under another `name` it is a batch of its own. Files that lines name are found from the batch's folder.

    Raises:
        BadRequestError: one line: the file, the line's number, what is wrong with it.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as wrong:
        raise BadRequestError(f"--batch: {path}: {wrong.strerror}") from None
    held = read_handed(defaults or {})
    found: list[Submission] = []
    numbers: dict[tuple[str, str], int] = {}
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            one = _read(line, held, path.parent, name, seen)
        except BadRequestError as wrong:
            raise BadRequestError(f"{path}, line {number}: {wrong}") from None
        first = numbers.setdefault((one.tenant or DEFAULT_TENANT, one.idempotency_key or ""), number)
        if first != number:
            raise BadRequestError(f"{path}, line {number}: has the idempotency_key of line {first}")
        found.append(one)
    if not found:
        raise BadRequestError(f"--batch: {path}: has no lines")
    return found


def _read(line: bytes, defaults: dict[str, Any], folder: Path, name: str, seen: Counter[str]) -> Submission:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        raise BadRequestError(f"is not JSON: {wrong}") from None
    if not isinstance(given, dict):
        raise BadRequestError('is not a JSON object such as {"prompt": "..."}')
    asked = defaults | read_handed(given, folder)
    if not asked.get("idempotency_key"):
        text = json.dumps(asked, sort_keys=True, default=_told)
        asked["idempotency_key"] = _key(name, text, seen[text])
        seen[text] += 1
    return Submission.of(asked)


def _told(file: HandedFile) -> list[str]:
    """What makes it another file."""
    return [file.about.name, file.about.digest]


def _key(name: str, text: str, copies: int) -> str:
    digest = hashlib.sha256(json.dumps([name, text, copies]).encode()).hexdigest()
    return f"batch-{digest}"
