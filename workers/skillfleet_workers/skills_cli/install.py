"""skills install and remove."""

from pathlib import Path
from typing import Annotated

import typer

from ..skills.choosing import legal_name
from ..skills.install_sources import parse_source
from ..skills.installing import NotInstalledError
from ..skills.installing import install as put
from ..skills.installing import remove as take
from ..skills.lockfile import read_lock
from ..wire.shown import short
from .machine import Machine
from .told import Json, UsageError, complain, say, say_json, unknown_skill

User = Annotated[bool, typer.Option("--user", help="The user's own skills, not the project's.")]


def install(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder, a .zip, .skill or .tar.gz, or the URL of a git repository.", show_default=False
        ),
    ],
    name: Annotated[str, typer.Option(help="Which of several skills; or how the only one is to be called.")] = "",
    user: User = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the one that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Install a skill, and write into skills.lock what it is and where it came from."""
    if name and not legal_name(name):
        raise UsageError(f"{short(name)!r} is no name for a skill; use small letters, digits and single hyphens")
    parsed = parse_source(source)
    root = Machine().root(user)
    entry = put(parsed, root, name=name, force=force)
    folder = root / entry.name
    if as_json:
        say_json({**entry.model_dump(), "folder": str(folder)})
    else:
        say(f"{folder}: {entry.name} {entry.version} from {entry.source}")
    _warn(Machine(), folder)


def remove(
    name: Annotated[str, typer.Argument(help="The skill.", show_default=False)],
    user: User = False,
    force: Annotated[bool, typer.Option("--force", help="Even if it was not installed by `skills install`.")] = False,
) -> None:
    """Remove a skill that was installed: its folder, and what skills.lock says of it."""
    root = Machine().root(user)
    try:
        take(name, root, force=force)
    except NotInstalledError:
        other = Machine().root(not user)
        if (other / name).is_dir() and legal_name(name):
            where = "without --user" if user else "with --user"
            raise UsageError(f"there is no skill {name!r} in {root}, but in {other}; remove it {where}") from None
        raise unknown_skill(name, [skill.name for skill in read_lock(root).skills]) from None
    say(f"{root / name}: removed")


def _warn(machine: Machine, folder: Path) -> None:
    """Of what was installed and will not work as it is."""
    skill = machine.find(folder.name)
    for problem in skill.problems:
        complain(f"{problem}; {problem.fix}")
    if skill.root != folder.resolve():
        complain(f"{skill.name} in {skill.root} comes first, and shadows it")
    elif reason := machine.reason(skill):
        complain(f"{skill.name} cannot run here: {reason}")
