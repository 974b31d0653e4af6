"""What a container may do and see, as the engine's options (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker.types import Mount, Ulimit

from ..base import Limits, Network
from ..cgroup import CPU_PERIOD_US
from ..inside.config import NO_CORE
from ..sandbox import outermost

CLOSED_TOP = Path("/root")
"""Other users can't walk through this folder of an image: what is shown below it would be out of reach."""

NO_QUOTA = -1
OWN_PROCESSES = 4
"""Of the container itself: its init, the interpreter's two threads and the init of the run."""


@dataclass(frozen=True, slots=True)
class Shown:
    """`source` on the host, read-only, as `target` inside."""

    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """A container to be made. `paths` are shown where they are. `user`: uid and gid. `alone`: the program is an init,
    and the only process that is not the script's."""

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
    alone: bool = False


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
        "init": not plan.alone,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "ipc_mode": "private",
        "network_mode": "none" if plan.network == "none" else "bridge",
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": plan.limits.pids + (1 if plan.alone else OWN_PROCESSES),
        **(cores(plan.limits) if plan.alone else {}),
        "ulimits": [Ulimit(name="core", soft=NO_CORE, hard=NO_CORE)],
        "log_config": {"Type": "none"},
        "labels": dict(plan.labels),
        "runtime": plan.engine_runtime,
        "mounts": mounts(plan),
        **_in_memory(plan),
    }


def cores(limits: Limits) -> dict[str, int]:
    """Also what an engine takes to limit a container that runs."""
    return {"cpu_period": CPU_PERIOD_US, "cpu_quota": int(limits.cpus * CPU_PERIOD_US)} if limits.cpus else {}


def mounts(plan: Plan) -> list[Mount]:
    paths = [Shown(path, path) for path in outermost(plan.paths)]
    return [Mount(str(one.target), str(one.source), type="bind", read_only=True) for one in (*paths, *plan.shown)]


def below_closed_top(paths: tuple[Path, ...]) -> list[Path]:
    """Of the paths, relative to it: folders for them must be made ahead, and shown in its place."""
    return [path.relative_to(CLOSED_TOP) for path in outermost(paths) if path.is_relative_to(CLOSED_TOP)]


def _in_memory(plan: Plan) -> dict[str, Any]:
    """All that can be written takes `disk_mb` together."""
    small = max(plan.limits.disk_mb // 8, 1)
    size = plan.limits.disk_mb - small
    return {"shm_size": small << 20, "tmpfs": {"/tmp": f"rw,exec,nosuid,nodev,size={size}m,mode=1777"}}
