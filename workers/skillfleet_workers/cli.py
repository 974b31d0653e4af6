"""The commands that touch skills and hosts; `skillfleet` mounts them, `python -m skillfleet_workers` runs them."""

import sys
from typing import TYPE_CHECKING, Annotated

import redis
import typer

from .settings import WorkerSettings, forget_model_keys
from .wire.connection import NO_BROKER_EXIT, SETTINGS_EXIT, RedisUrls, SettingsError, load_settings
from .wire.fitness import require_fit
from .wire.parent import end_with_parent

if TYPE_CHECKING:
    from .probes import Finding


def worker(
    concurrency: Annotated[int | None, typer.Option(min=1, max=512, help="Tool calls at once.")] = None,
    queue: Annotated[str, typer.Option(hidden=True)] = "",
    lone: Annotated[bool, typer.Option(hidden=True)] = False,
) -> int:
    """Run tool calls: mount the skills folder, take calls from the queue, run scripts."""
    forget_model_keys()
    end_with_parent()
    given = {"concurrency": concurrency} if concurrency else {}
    settings = load_settings(WorkerSettings, **given)
    from .app import run_worker  # noqa: PLC0415  Celery costs half a second that other commands need not pay

    try:
        with RedisUrls.of(settings).client() as client:
            require_fit(client)
        return run_worker(settings, queue=queue, lone=lone)
    except redis.RedisError as error:
        print(f"skillfleet: redis: {error}; start it or set SKILLFLEET_REDIS_URL", file=sys.stderr)
        return NO_BROKER_EXIT


def check_worker_settings() -> None:
    """Raises SettingsError where a worker started here would refuse its settings."""
    load_settings(WorkerSettings)


def host_findings() -> "list[Finding]":
    """What this machine offers a worker: for `doctor`."""
    from .probes import probe_host  # noqa: PLC0415  only doctor needs the Docker SDK

    return probe_host(load_settings(WorkerSettings))


def skills(context: typer.Context) -> object:
    """List, check, write, run and install skills: `skills --help` says how."""
    from .skills_cli import run  # noqa: PLC0415  what reads and runs skills takes a moment to load

    return run(context.args, context.command_path)


FORWARDING = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
"""Of a command that hands on all that follows its name, `--help` too."""


def mount_skills(on: typer.Typer) -> None:
    on.command("skills", context_settings=FORWARDING, add_help_option=False)(skills)


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("worker")(worker)
mount_skills(app)


@app.callback()
def _commands() -> None:
    pass


def main() -> None:
    try:
        code = app(standalone_mode=False)
    except SettingsError as wrong:
        print(f"skillfleet: {wrong}", file=sys.stderr)
        raise SystemExit(SETTINGS_EXIT) from None
    except typer.TyperException as wrong:
        print(f"skillfleet: {' '.join(wrong.format_message().split())} (see --help)", file=sys.stderr)
        raise SystemExit(SETTINGS_EXIT) from None
    except typer.Exit as done:
        raise SystemExit(done.exit_code) from None
    raise SystemExit(code if isinstance(code, int) else 0)
