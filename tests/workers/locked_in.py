"""A child that locks itself in and tells what it could still do."""

import os
import subprocess
import sys
from pathlib import Path

from skillfleet_workers.runtimes import inside

PRELUDE = f"""
import ctypes, errno, os, socket, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(Path(inside.__file__).parent)!r})
import landlock, seccomp
here, there = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def kernel(*arguments):
    if libc.syscall(*map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")
def attempt(call, *arguments):
    try:
        call(*arguments)
        return "ok"
    except OSError as refused:
        return errno.errorcode[refused.errno]
def write(path, mode="w"):
    open(path, mode).close()
"""


def child(
    code: str, here: Path | str = "/", there: Path | str = "/", python: str = sys.executable
) -> "subprocess.CompletedProcess[str]":
    """It works in `here`, and finds the two folders under these names."""
    return subprocess.run(
        [python, "-c", PRELUDE + code, here, there],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=here,
        env={"PATH": os.environ["PATH"], "TMPDIR": str(here), "HOME": str(here)},
        start_new_session=True,
    )


def said(code: str, here: Path | str = "/", there: Path | str = "/", python: str = sys.executable) -> list[str]:
    """The words of a child that ended well."""
    done = child(code, here, there, python)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
