"""A git repository fetched for its files alone: no hooks, no submodules, no prompts, only the protocol of its URL."""

import os
import re
import signal
import subprocess
from pathlib import Path

from .install_sources import Repository
from .members import RefusedError

PATIENCE_S = 300.0
"""For one command of git."""

MAX_SAID = 300

_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.askPass": "",
    "core.symlinks": "true",
    "core.autocrlf": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
}
_CREDENTIALS = re.compile(r"://[^/\s]*@")
_WITHHELD = ("GIT_", "LLM_", "SKILLFLEET_", "SSH_ASKPASS")


def fetch(repository: Repository, into: Path) -> str:
    """The commit that is checked out in `into`, which is created.

    Raises:
        RefusedError: git says no, takes too long or is missing.
    """
    into.mkdir()
    _git(repository, into, "init", "--quiet", "--template=")
    asked = repository.ref or "HEAD"
    _git(
        repository, into, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
        "--", repository.url, asked,
    )  # fmt: skip
    _git(repository, into, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
    return _git(repository, into, "rev-parse", "--verify", "HEAD").strip()


def _git(repository: Repository, folder: Path, *arguments: str) -> str:
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    try:
        process = subprocess.Popen(
            ["git", *settings, *arguments],
            cwd=folder, env=_environment(repository), text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,  # without a terminal, nothing can ask there
        )  # fmt: skip
    except FileNotFoundError:
        raise RefusedError("git is not installed; install it, or use an archive") from None
    with process:
        try:
            written, said = process.communicate(timeout=PATIENCE_S)
        except BaseException as ended:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(ended, subprocess.TimeoutExpired):
                raise RefusedError(f"git {arguments[0]} took longer than {PATIENCE_S:g} s") from None
            raise
    if process.returncode:
        raise RefusedError(f"git {arguments[0]} of {repository.safe_url}: {_reason(said)}")
    return written


def _environment(repository: Repository) -> dict[str, str]:
    """The user's own, for the credentials that git may find there; nothing that changes what git does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_WITHHELD)}
    return kept | {
        "GIT_ALLOW_PROTOCOL": repository.protocol,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }


def _reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = next(
        (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "it failed"
    )
    return _CREDENTIALS.sub("://", told)[:MAX_SAID]
