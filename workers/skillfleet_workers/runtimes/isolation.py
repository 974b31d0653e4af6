"""What this host can hold a script with, found by trying it, not by version."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from ..python import base_interpreter
from ..wire.execution import Isolation
from .cgroups import Cgroups, find_cgroups

SANDBOX_UID = 64_000
"""User and group of a sandbox where the worker is root."""

TRY_TIMEOUT_S = 10
OWN_PYTHON = str(base_interpreter())
ORDER: tuple[Isolation, ...] = get_args(Isolation)

NAMESPACES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
who, users = sys.argv[1], sys.argv[2:]
def must(what, failed):
    if failed:
        sys.exit(f"{who}cannot {what}: {os.strerror(ctypes.get_errno())}")
for uid in map(int, users):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    libc.prctl(4, 1, 0, 0, 0)  # dumpable again, so that /proc/self is ours
uid, gid = os.getuid(), os.getgid()
USER, MOUNT, PROCESS, IPC = 0x10000000, 0x20000, 0x20000000, 0x8000000
must("make namespaces", libc.unshare(USER | MOUNT | PROCESS | IPC))
for name, line in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
    try:
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)
    except OSError as wrong:
        sys.exit(f"{who}cannot map users: {wrong.strerror}")
child = os.fork()
if not child:
    for kind, target in (("tmpfs", "/tmp"), ("proc", "/proc"))[:2 if who else 1]:
        must(f"mount {target}", libc.mount(kind.encode(), target.encode(), kind.encode(), 14, None))
    sys.exit()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

LOCK_IN = """
import os, sys
sys.path.insert(0, sys.argv[1])
import landlock, seccomp
print(landlock.restrict(["/usr"], [], network=False), flush=True)
seccomp.install(seccomp.program(os.uname().machine, network=False))
print("filtered")
"""


@dataclass(frozen=True, slots=True)
class KernelLocks:
    """What a process can lock itself in with, whoever it is. An ABI of 0: there is no Landlock."""

    landlock_abi: int
    seccomp: bool


@dataclass(frozen=True, slots=True)
class HostIsolation:
    """What holds here; of a text: empty where it works, else the one line that says why it does not.

    `bubblewrap` is tried as it is used, with namespaces for every run inside; `user_namespaces` alone, as anybody's.
    `cores`: whether control groups limit them too.
    """

    bubblewrap: str
    user_namespaces: str
    cgroups: str
    cores: str
    landlock_abi: int
    seccomp: bool

    @property
    def strongest(self) -> Isolation:
        return "process" if self.bubblewrap else "sandbox"


def at_least(isolation: Isolation, minimum: Isolation) -> bool:
    return ORDER.index(isolation) >= ORDER.index(minimum)


def sandbox_user() -> int | None:
    """Who starts a sandbox: nobody in particular where we are root (no groups either); None: we ourselves.

    A root that owns one user id only (`unshare -r`) can become nobody else, and is no root to the host.
    """
    mapped = os.geteuid() == 0 and all(_maps(Path(f"/proc/self/{kind}_map")) for kind in ("uid", "gid"))
    return SANDBOX_UID if mapped else None


def _maps(mapping: Path) -> bool:
    ranges = (map(int, line.split()) for line in mapping.read_text().splitlines())
    return any(first <= SANDBOX_UID < first + count for first, _, count in ranges)


def sandbox_trouble() -> str:
    """Why no sandbox can be had here; empty where one can."""
    return _bubblewrap(sandbox_user()) if sys.platform == "linux" else f"{sys.platform} has none"


def probe() -> HostIsolation:
    if sys.platform != "linux":
        why = f"{sys.platform} has none"
        return HostIsolation(
            bubblewrap=why, user_namespaces=why, cgroups=why, cores=why, landlock_abi=0, seccomp=False
        )
    user = sandbox_user()
    own = [OWN_PYTHON, "-I", "-S", "-c"]
    cgroups = find_cgroups()
    locks = kernel_locks()
    return HostIsolation(
        bubblewrap=_bubblewrap(user),
        user_namespaces=_try([*own, NAMESPACES, "", *([] if user is None else [str(user)])])[1],
        cgroups=cgroups if isinstance(cgroups, str) else "",
        cores=_cores(cgroups),
        landlock_abi=locks.landlock_abi,
        seccomp=locks.seccomp,
    )


@cache
def kernel_locks() -> KernelLocks:
    if sys.platform != "linux":
        return KernelLocks(landlock_abi=0, seccomp=False)
    locked, _ = _try([OWN_PYTHON, "-I", "-S", "-c", LOCK_IN, str(Path(__file__).with_name("inside"))])
    return KernelLocks(landlock_abi=int(locked[0]) if locked else 0, seccomp="filtered" in locked)


def _cores(cgroups: Cgroups | str) -> str:
    if isinstance(cgroups, str):
        return cgroups
    return "" if cgroups.limits_cpu else "the control groups here have no cpu controller"


def _bubblewrap(user: int | None) -> str:
    binary = shutil.which("bwrap")
    if binary is None:
        return "bwrap is not on PATH"
    pythons = (OWN_PYTHON, "/usr/bin/python3", "/usr/local/bin/python3")
    python = next((one for one in pythons if not _try([one, "-I", "-S", "-c", "import ctypes"], user)[1]), None)
    if python is None:
        return f"user {user} may run none of {', '.join(pythons)}"
    prefix = [] if python.startswith("/usr/") else ["--ro-bind", sys.base_prefix, sys.base_prefix]
    system = [word for folder in ("/lib", "/lib64", "/bin") for word in ("--ro-bind-try", folder, folder)]
    view = ["--ro-bind", "/usr", "/usr", *system, *prefix, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    alone = ["--unshare-all", "--die-with-parent", "--new-session"]
    return _try([binary, *alone, *view, "--", python, "-I", "-S", "-c", NAMESPACES, "inside it, a run "], user)[1]


def _try(command: list[str], user: int | None = None) -> tuple[list[str], str]:
    """The words of its output, and why it failed: empty where it did not."""
    groups: list[int] | None = None if user is None else []
    try:
        tried = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd="/",
            timeout=TRY_TIMEOUT_S,
            user=user,
            group=user,
            extra_groups=groups,
        )
    except subprocess.TimeoutExpired:
        return [], f"no answer within {TRY_TIMEOUT_S} s"
    except OSError as wrong:
        return [], f"cannot be started: {wrong.strerror}"
    last = tried.stderr.strip().rpartition("\n")[2].partition(". ")[0]  # bwrap adds links after its first sentence
    return tried.stdout.split(), last or f"ended with {tried.returncode}" if tried.returncode else ""
