"""How to get what a host lacks (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

BLOCKING: dict[str, tuple[int, str]] = {
    "user.max_user_namespaces": (0, "sysctl -w user.max_user_namespaces=15000"),
    "kernel.unprivileged_userns_clone": (0, "sysctl -w kernel.unprivileged_userns_clone=1"),
    "kernel.apparmor_restrict_unprivileged_userns": (
        1,
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu 23.10 and newer set it to 1)",
    ),
}
"""Kernel settings, the value at which each keeps namespaces from ordinary users, and how to change it."""

UNREADABLE = ("source path", "execvp", "may run none of")
LINUX = "run the workers on Linux: in a virtual machine, or with docker-compose"
OPEN_CONTAINER = (
    "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined (the sandboxes inside are then the wall, the container is less of one)"
)


@dataclass(frozen=True, slots=True)
class Host:
    """`container`: we are in one. `filtered`: some seccomp filter holds us. `unified`: all control groups are of
    version 2. `settings`: those of BLOCKING that the kernel has."""

    system: str = "linux"
    root: bool = False
    container: bool = False
    filtered: bool = False
    unified: bool = True
    settings: Mapping[str, int] = field(default_factory=dict)


def of_plain_processes(landlock_abi: int, *, seccomp: bool, no_sandbox: str) -> str:
    """What holds them on Linux, and what that leaves open. `no_sandbox`: why they are all there is; empty: they are
    not."""
    held = [name for name, there in (("Landlock", landlock_abi), ("seccomp", seccomp)) if there]
    left_open = [
        what
        for what, lacking in (
            ("files", landlock_abi == 0),
            ("signals to the worker and abstract sockets", landlock_abi < 6),
            ("sockets" if landlock_abi < 4 else "UDP", not seccomp),
            ("unix sockets with a path, sums of memory and files", True),
        )
        if lacking
    ]
    why = f"no namespaces because {no_sandbox}" if no_sandbox else "scripts have the sandbox instead"
    return f"{', '.join([*held, 'limits for each process'])}; open: {', '.join(left_open)}; {why}"


def for_namespaces(host: Host) -> str:
    if host.system != "linux":
        return LINUX
    steps = [
        change + (" on the host" if host.container else "")
        for name, (blocking, change) in BLOCKING.items()
        if host.settings.get(name) == blocking
    ]
    if host.container:
        steps.append(OPEN_CONTAINER)
    elif host.filtered:
        steps.append("a seccomp filter was set by what started this process: have it allow unshare, clone and mount")
    return "; ".join(steps) or "ask who runs this machine what keeps user namespaces from ordinary users"


def for_bubblewrap(host: Host, why: str) -> str:
    if host.system == "linux" and "not on PATH" in why:
        return "install bubblewrap (Debian, Ubuntu, Fedora and Alpine all name the package so)"
    if any(part in why for part in UNREADABLE):
        return "let every user read and run Python and what it needs"
    return for_namespaces(host)


def for_cgroups(host: Host) -> str:
    if host.system != "linux":
        return LINUX
    if host.container:
        return (
            "limit the container as a whole (docker run --memory, --pids-limit, --cpus): that holds, for all scripts "
            "together; or start it with --privileged, and give every script limits of its own"
        )
    if not host.unified:
        return "start the worker as root, or boot with systemd.unified_cgroup_hierarchy=1 and delegate a group to it"
    if host.root:
        return "start the worker as a systemd service with Delegate=yes"
    return "systemd-run --user --scope -p Delegate=yes skillfleet worker"


def for_landlock(host: Host) -> str:
    if host.system != "linux":
        return LINUX
    return "Linux 5.13 or newer, started with landlock in lsm= (cat /sys/kernel/security/lsm)"


def for_seccomp(host: Host) -> str:
    return LINUX if host.system != "linux" else "a kernel with CONFIG_SECCOMP_FILTER"
