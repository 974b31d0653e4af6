"""What the live workers of a fleet say of their skills, where a redis can be reached; none is started."""

from collections.abc import Mapping
from dataclasses import dataclass

import redis

from ..settings import WorkerSettings
from ..wire.connection import RedisUrls
from ..wire.presence import live_processes
from ..wire.published import PublishedSkill
from ..wire.snapshots import Snapshots
from .told import complain


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """`health`: of its skills that are not healthy."""

    name: str
    skills: tuple[PublishedSkill, ...]
    health: Mapping[str, str]


def live_workers(settings: WorkerSettings) -> tuple[LiveWorker, ...]:
    """Those that publish a snapshot. A redis that was named and does not answer is told on stderr."""
    urls = RedisUrls.of(settings)
    try:
        with urls.client() as client:
            snapshots = Snapshots(client, settings.result_ttl_hours * 3600)
            processes = [p for p in live_processes(client, settings.fleet) if p.role == "worker" and p.snapshot]
            read = [(process, snapshots.read(process.snapshot)) for process in processes]
    except redis.RedisError as failed:
        if settings.redis_url is not None:
            complain(f"redis at {urls.safe} cannot be asked ({failed}): this is what this machine alone knows")
        return ()
    return tuple(LiveWorker(process.name, known.skills, process.health) for process, known in read if known)
