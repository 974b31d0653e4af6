"""Where on this host groups of our own can be made."""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

NEEDED = ("memory", "pids")
WELCOME = ("cpu",)
UNIFIED = ""
"""The controller's name under which /proc/self/cgroup has version 2's one tree."""

LEAF = "skillfleet-leaf"
TOP = "skillfleet"
MOVES = 20


class NoPlaceError(Exception):
    """The message says why groups can't be made here."""


def own_groups(mountinfo: str, membership: str) -> dict[str, Path]:
    """Our own group's folder for each controller of version 1, and for UNIFIED (pure: from the texts of
    /proc/self/mountinfo and /proc/self/cgroup)."""
    paths = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update(dict.fromkeys(controllers.split(","), path))
    found: dict[str, Path] = {}
    for root, point, controllers_here in _mounts(mountinfo):
        for controller in controllers_here & paths.keys():
            if Path(paths[controller]).is_relative_to(root):  # else the mount shows other groups only
                found.setdefault(controller, Path(point) / Path(paths[controller]).relative_to(root))
    return found


def _mounts(mountinfo: str) -> Iterator[tuple[str, str, set[str]]]:
    """Root, mount point and controllers of each mounted hierarchy."""
    for line in mountinfo.splitlines():
        mount, _, source = line.partition(" - ")
        root, point = mount.split()[3:5]
        kind, _, options = source.split(" ", 2)
        if kind == "cgroup2":
            yield root, point, {UNIFIED}
        elif kind == "cgroup":
            yield root, point, set(options.split(","))


def parents() -> dict[str, Path]:
    """The folder for new groups: for each controller, and for UNIFIED where it is mounted.

    Raises:
        NoPlaceError: there is none for a needed controller.
        OSError: the host does not let us make one.
    """
    try:
        own = own_groups(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    except FileNotFoundError:
        raise NoPlaceError("this system has no control groups") from None
    found = {controller: own[controller] for controller in (*NEEDED, *WELCOME) if controller in own}
    missing = [controller for controller in NEEDED if controller not in found]
    if UNIFIED in own:
        found[UNIFIED] = shared = _unified(own[UNIFIED], missing) if missing else own[UNIFIED]
        if missing:
            here = _words(shared / "cgroup.subtree_control") & {*NEEDED, *WELCOME}
            found = dict.fromkeys(here, shared) | found
    elif missing:
        raise NoPlaceError(f"no {' and no '.join(missing)} control group is mounted here")
    return found


def _unified(own: Path, needed: list[str]) -> Path:
    """A folder of version 2 whose children can be limited; processes may be moved or a top group made for it."""
    if own.name == LEAF:
        return _sharing(own.parent, needed)
    try:
        return _sharing(own, needed)
    except (OSError, NoPlaceError) as wrong:
        why_not = wrong
    busy = isinstance(why_not, OSError) and why_not.errno == errno.EBUSY
    if _is_ours(own):
        if busy:
            return _emptied(own, needed)
    elif os.geteuid() == 0 and (root := _root_above(own)):
        top = _sharing(root, needed) / TOP
        top.mkdir(exist_ok=True)
        return _sharing(top, needed)
    elif busy:
        raise NoPlaceError(f"the control group {own} is not delegated to this worker")
    raise why_not


def _emptied(own: Path, needed: list[str]) -> Path:
    """Our own group, its processes moved into a leaf: the kernel shares out controllers of empty groups only."""
    leaf = own / LEAF
    leaf.mkdir(exist_ok=True)
    for _ in range(MOVES):  # what is forked meanwhile has to follow
        for pid in _words(own / "cgroup.procs"):
            with suppress(ProcessLookupError):
                write(leaf / "cgroup.procs", pid)
        with suppress(OSError):
            return _sharing(own, needed)
    return _sharing(own, needed)


def _sharing(folder: Path, needed: list[str]) -> Path:
    """The folder, once its children get the controllers."""
    offered = _words(folder / "cgroup.controllers")
    if missing := [controller for controller in needed if controller not in offered]:
        raise NoPlaceError(f"the control group {folder} has no {' and no '.join(missing)} controller")
    wanted = offered & {*needed, *WELCOME}
    if not wanted <= _words(folder / "cgroup.subtree_control"):
        write(folder / "cgroup.subtree_control", " ".join(f"+{controller}" for controller in wanted))
    return folder


def _root_above(own: Path) -> Path | None:
    """The root of the whole tree, known by having no type; None in a container's view of it."""
    *_, outermost = (folder for folder in (own, *own.parents) if (folder / "cgroup.procs").exists())
    return None if (outermost / "cgroup.type").exists() else outermost


def _is_ours(own: Path) -> bool:
    """systemd marked it as delegated, or it is a container's outermost: the first process of all lives in it."""
    for mark in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(own, mark) == b"1":
                return True
    with suppress(OSError):
        first, self = (Path(f"/proc/{pid}/cgroup").read_text().rpartition("0::")[2] for pid in ("1", "self"))
        return first == self
    return False


def _words(file: Path) -> set[str]:
    return set(file.read_text().split())


def write(file: Path, value: str) -> None:
    """Raises OSError that names the file."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    except OSError as wrong:
        wrong.filename = str(file)
        raise
    finally:
        os.close(descriptor)
