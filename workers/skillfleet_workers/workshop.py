"""What a worker runs calls with, made from its settings."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .environments.build import Environments
from .given import script_path
from .offering import Offering
from .runtimes.choice import ChosenRuntime
from .runtimes.host import host_runtime
from .runtimes.isolation import at_least
from .settings import WorkerSettings
from .skills.catalog import SkillCatalog
from .skills.kept import Kept
from .skills.overrides import Overrides
from .skills.roots import roots_of
from .skills.this_host import this_host
from .skills.watching import Watching
from .tools import Toolbox
from .wire.artifacts import prune_artifacts
from .wire.connection import SettingsError
from .wire.published import Snapshot


@dataclass(frozen=True, slots=True)
class Workshop:
    catalog: SkillCatalog
    runtime: ChosenRuntime
    offering: Offering
    toolbox: Toolbox


def workshop(
    settings: WorkerSettings, scratch: Path, watching: Watching, snapshots: Callable[[str], Snapshot | None]
) -> Workshop:
    """Its runtime is the caller's to close.

    Raises:
        SettingsError: nothing would do for the isolation that is demanded.
    """
    state, ttl_s = settings.state_dir, settings.result_ttl_hours * 3600
    runtime = _runtime(settings, scratch)
    prune_artifacts(state / "artifacts", ttl_s)
    kept = Kept(state / "kept")
    kept.prune(ttl_s)
    catalog = SkillCatalog(roots_of(settings), watching=watching, kept=kept)
    overrides = Overrides(settings.skills_config)
    host = this_host(script_path(settings.script_path), settings.worker_queues)
    offering = Offering(catalog, overrides, host, kept.keep)
    toolbox = Toolbox(
        catalog=catalog,
        environments=Environments(
            state / "environments",
            settings.build_timeout_s,
            max_bytes=settings.environments_max_mb * 1_000_000,
        ),
        runtime=runtime,
        script_timeout_s=settings.script_timeout_s,
        script_cpus=settings.script_cpus,
        artifacts_folder=state / "artifacts",
        overrides=overrides.of,
        digest_of=catalog.digest_of,
        snapshots=snapshots,
        offering=offering,
        programs=settings.script_path,
    )
    return Workshop(catalog, runtime, offering, toolbox)


def _runtime(settings: WorkerSettings, scratch: Path) -> ChosenRuntime:
    runtime = host_runtime(
        scratch,
        settings.min_isolation,
        fleet=settings.fleet,
        warm_mb=settings.warm_mb,
        image_build_timeout_s=settings.build_timeout_s,
    )
    if not at_least("process", settings.min_isolation) and (refusal := runtime.refusal):
        runtime.close()
        raise SettingsError(f"SKILLFLEET_MIN_ISOLATION: {refusal}")
    return runtime
