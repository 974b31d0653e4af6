"""Hosts that hold less than a sandbox, made around a worker."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

INSIDE = Path(__file__).parents[2] / "workers" / "skillfleet_workers" / "runtimes" / "inside"
NO_ENGINE = {"DOCKER_HOST": "unix:///nonexistent"}
USED_UP = """
import os, sys
with open("/proc/sys/user/max_user_namespaces", "w") as limit:
    limit.write("0")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
FILTERED = f"""
import os, sys
sys.path.insert(0, {str(INSIDE)!r})
import seccomp
seccomp.install(seccomp.program(os.uname().machine, network=True))
del sys.path[0]
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@dataclass(frozen=True)
class WeakHost:
    """`around`: what a python command line follows to be run there. `why`: of what doctor says of bubblewrap."""

    why: str
    around: tuple[str, ...] = (sys.executable,)
    variables: Mapping[str, str] = field(default_factory=dict)


def weak_hosts() -> dict[str, WeakHost]:
    """By what they lack."""
    own = (sys.executable, "-c")
    without = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if not Path(folder, "bwrap").exists()
    )
    return {
        "no bubblewrap": WeakHost("bwrap is not on PATH", variables={"PATH": without or "/nonexistent"}),
        "no more namespaces": WeakHost(
            "No space left on device", ("unshare", "--user", "--map-root-user", *own, USED_UP)
        ),
        "a seccomp filter": WeakHost("Operation not permitted", (*own, FILTERED)),
    }
