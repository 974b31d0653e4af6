"""What a sandbox shows of the host, as bubblewrap's arguments."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .base import Network

LAUNCH = Path(__file__).with_name("launch.py")
INSIDE = Path(__file__).with_name("inside")
PROGRAM = "/run/skillfleet"
UID = "1000"
COVERED = (Path("/tmp"), Path("/dev/shm"))
"""Where every run has a mount of its own."""

FACTS = (
    "alternatives", "ca-certificates", "crypto-policies", "fonts", "group", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki", "services", "ssl", "timezone",
)  # fmt: skip
"""Of /etc, what programs need to run as anywhere and holds nobody's secrets."""

NETWORK_FACTS = ("gai.conf", "host.conf", "hosts", "protocols", "resolv.conf")


@dataclass(frozen=True, slots=True)
class View:
    """`shown`: read-only, under the paths that they have outside."""

    shown: tuple[Path, ...]
    network: Network

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(str(path) for path in self.shown if any(path.is_relative_to(top) for top in COVERED))


def interpreter_paths(interpreter: Path) -> tuple[Path, ...]:
    """The environment that an interpreter belongs to, and the installation behind it."""
    found = [interpreter.parent.parent]
    hop = interpreter
    while hop.is_symlink():
        hop = hop.parent / hop.readlink()
        found.append(Path(os.path.normpath(hop)).parent.parent)
    found.append(Path(os.path.realpath(interpreter)).parent.parent)
    return tuple(path for path in dict.fromkeys(found) if path not in (Path("/"), Path("/usr")))


def outermost(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Without those that another one holds, or that every sandbox shows."""
    tops = [Path("/usr"), *paths]
    return tuple(
        path for path in dict.fromkeys(paths) if not any(path != top and path.is_relative_to(top) for top in tops)
    )


def command(
    view: View, program: Sequence[str], environment: Mapping[str, str], join: Sequence[str], user: int | None
) -> list[str]:
    """Of a process that becomes the sandbox around `program`, and ends with its parent."""
    binary = shutil.which("bwrap") or "bwrap"
    sources = [str(INSIDE), *map(str, view.shown)]
    words = [
        "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try",
        *(["--unshare-net"] if view.network == "none" else []),
        "--die-with-parent", "--new-session", "--uid", UID, "--gid", UID, "--hostname", "sandbox",
        *_system(view.network),
        "--proc", "/proc", "--dev", "/dev", "--dir", "/tmp",
        "--ro-bind", "@0", f"{PROGRAM}/inside",
        *(word for number, path in enumerate(view.shown, 1) for word in ("--ro-bind", f"@{number}", str(path))),
        # What one run left there would be seen by the next of the same interpreter.
        "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", PROGRAM, "--clearenv",
        *(word for name, value in environment.items() for word in ("--setenv", name, value)),
    ]  # fmt: skip
    spec = json.dumps({"join": list(join), "user": user, "sources": sources})
    return [sys.executable, "-I", "-S", str(LAUNCH), spec, binary, *words, "--", *program]


def _system(network: Network) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in FACTS + (NETWORK_FACTS if network == "host" else ()):
        if Path("/etc", name).exists():
            yield from ("--ro-bind", f"/etc/{name}", f"/etc/{name}")
