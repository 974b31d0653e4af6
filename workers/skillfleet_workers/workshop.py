"""What a worker runs calls with, made from its settings."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .call_files import INPUTS, CallFiles
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
from .tidying import Tidying
from .tools import Toolbox
from .wire.artifacts import ARTIFACTS, prune_artifacts
from .wire.connection import SettingsError
from .wire.published import Snapshot
from .wire.store import UNUSED_S, ArtifactStore, StoreError


@dataclass(frozen=True, slots=True)
class Workshop:
    catalog: SkillCatalog
    runtime: ChosenRuntime
    offering: Offering
    toolbox: Toolbox
    files: CallFiles
    tidying: Tidying


def workshop(
    settings: WorkerSettings, scratch: Path, watching: Watching, snapshots: Callable[[str], Snapshot | None]
) -> Workshop:
    """Its runtime is the caller's to close.

    Raises:
        SettingsError: nothing would do for the isolation that is demanded; there can be no such artifact store.
    """
    state, ttl_s = settings.state_dir, settings.result_ttl_hours * 3600
    files = _files(settings)
    runtime = _runtime(settings, scratch)
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
        artifacts_folder=state / ARTIFACTS,
        overrides=overrides.of,
        digest_of=catalog.digest_of,
        snapshots=snapshots,
        offering=offering,
        programs=settings.script_path,
    )
    tidying = Tidying(
        (
            partial(prune_artifacts, state / ARTIFACTS, ttl_s),
            files.prune,
            partial(files.store.prune, ttl_s + UNUSED_S),
        )
    )
    return Workshop(catalog, runtime, offering, toolbox, files, tidying)


def _files(settings: WorkerSettings) -> CallFiles:
    try:
        return CallFiles(ArtifactStore.of(settings), settings.state_dir / INPUTS)
    except StoreError as wrong:
        raise SettingsError(str(wrong)) from None


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
