"""What a container may do and see, as the engine's options (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker.types import Mount, Ulimit

from ..base import Limits, Network
from ..inside.config import NO_CORE, WORK
from ..sandbox import outermost

CLOSED_TOP = Path("/root")
"""Other users can't walk through this folder of an image: what is shown below it would be out of reach."""

OWN_PROCESSES = 4
"""Of the container itself: its init, the interpreter's two threads and the init of the run."""


@dataclass(frozen=True, slots=True)
class Shown:
    """`source` on the host, read-only unless `writable`, as `target` inside."""

    source: Path
    target: Path
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A container to be made. `paths` are shown where they are. `user`: uid and gid."""

    image: str
    program: tuple[str, ...]
    paths: tuple[Path, ...]
    user: tuple[int, int]
    limits: Limits
    network: Network
    memory_mb: int
    labels: Mapping[str, str]
    folder: str
    shown: tuple[Shown, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    engine_runtime: str | None = None
    own_work: bool = False
    """The work folder is a mount of its own."""
    cpus: float | None = None


def options(plan: Plan) -> dict[str, Any]:
    """The keyword arguments of `containers.create`."""
    uid, gid = plan.user
    memory = plan.memory_mb << 20
    return {
        "image": plan.image,
        "entrypoint": list(plan.program),
        "environment": dict(plan.environment),
        "working_dir": plan.folder,
        "hostname": "sandbox",
        "user": f"{uid}:{gid}",
        "init": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "ipc_mode": "private",
        "network_mode": "none" if plan.network == "none" else "bridge",
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": plan.limits.pids + OWN_PROCESSES,
        "nano_cpus": int(plan.cpus * 1e9) if plan.cpus else None,
        "ulimits": [Ulimit(name="core", soft=NO_CORE, hard=NO_CORE)],
        "log_config": {"Type": "none"},
        "labels": dict(plan.labels),
        "runtime": plan.engine_runtime,
        "mounts": mounts(plan),
        **_in_memory(plan),
    }


def mounts(plan: Plan) -> list[Mount]:
    paths = [Shown(path, path) for path in outermost(plan.paths)]
    return [
        Mount(str(one.target), str(one.source), type="bind", read_only=not one.writable)
        for one in (*paths, *plan.shown)
    ]


def below_closed_top(paths: tuple[Path, ...]) -> list[Path]:
    """Of the paths, relative to it: folders for them must be made ahead, and shown in its place."""
    return [path.relative_to(CLOSED_TOP) for path in outermost(paths) if path.is_relative_to(CLOSED_TOP)]


def _in_memory(plan: Plan) -> dict[str, Any]:
    """All that can be written takes `disk_mb` together: most of it the work folder, wherever that is."""
    small = max(plan.limits.disk_mb // 8, 1)
    rest = plan.limits.disk_mb - small
    opened = "rw,exec,nosuid,nodev"
    if not plan.own_work:
        return {"shm_size": small << 20, "tmpfs": {"/tmp": f"{opened},size={rest}m,mode=1777"}}
    uid, gid = plan.user
    work = f"{opened},size={rest - small}m,mode=700,uid={uid},gid={gid}"
    return {
        "shm_size": small << 20,
        "tmpfs": {"/tmp": f"{opened},size={small}m,mode=1777", WORK: work},
    }
