"""skills: the commands for the skills of this machine."""

import logging
import sys
from collections.abc import Callable, Sequence

import typer

from ..runtimes.base import RuntimeUnavailableError
from ..skills.install_sources import SourceError
from ..skills.lockfile import LockfileError
from ..skills.members import RefusedError
from .check import validate
from .install import install, remove
from .listing import list_skills
from .new import new
from .run import run_script
from .show import show
from .switch import disable, enable
from .told import FAILED, USAGE, Complaints, UsageError, complain

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    help="The skills of this machine.",
    epilog="Exit codes: 0 good; 1 found invalid, refused, or the script failed; 2 usage or settings.",
)


@app.callback()
def skills(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(USAGE)


COMMANDS: dict[str, Callable[..., int | None]] = {
    "list": list_skills,
    "show": show,
    "validate": validate,
    "new": new,
    "run": run_script,
    "install": install,
    "remove": remove,
    "enable": enable,
    "disable": disable,
}
for name, command in COMMANDS.items():
    app.command(name)(command)


def run(arguments: Sequence[str], name: str) -> object:
    """What an expected error comes to is one line on stderr and an exit code; those of settings and of the command
    line's own words are raised, as every command does."""
    log, complaints = logging.getLogger(__package__.partition(".")[0]), Complaints(logging.WARNING)
    log.addHandler(complaints)
    try:
        return app(args=list(arguments), prog_name=name, standalone_mode=False)
    except (SourceError, UsageError) as wrong:
        complain(str(wrong))
        return USAGE
    except (RefusedError, LockfileError, RuntimeUnavailableError) as refused:
        complain(str(refused))
        return FAILED
    except BrokenPipeError:
        raise
    except OSError as failed:
        complain(": ".join(str(part) for part in (failed.filename, failed.strerror or failed) if part))
        return FAILED
    finally:
        log.removeHandler(complaints)
