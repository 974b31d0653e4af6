"""skills new: a skill to begin with, valid by the standard, with a script that runs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..settings import WorkerSettings
from ..skills.choosing import legal_name
from ..skills.skill_md import MAX_DESCRIPTION
from ..wire.connection import load_settings
from ..wire.shown import short
from .told import UsageError, say

FIRST_VERSION = "0.1.0"

SKILL_MD = """\
---
name: {name}
description: {description}
metadata:
  version: "{version}"
---

# {title}

Say here what the skill is for, when to use it, and what to watch out for. A model reads this once the description
above fits its task.

To greet somebody, run `scripts/hello.py` with the arguments `{{"name": "Ada"}}`. It answers with JSON:
`{{"greeting": "Hello, Ada!"}}`.

What is needed only at times belongs in files of its own: [references/guide.md](references/guide.md).
"""

HELLO = '''\
"""Greet somebody: {"name": "Ada"} on standard input, or --name Ada."""

import argparse
import json
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="world", help="whom to greet")
    given = "" if sys.stdin.isatty() else sys.stdin.read()
    parser.set_defaults(**json.loads(given or "{}"))
    arguments = parser.parse_args()
    print(json.dumps({"greeting": f"Hello, {arguments.name}!"}))


if __name__ == "__main__":
    main()
'''

GUIDE = """\
# Guide to {name}

Put here what SKILL.md should not be made longer with, and link to it from there.
"""


def new(
    name: Annotated[str, typer.Argument(help="Small letters, digits and single hyphens.", show_default=False)],
    description: Annotated[
        str, typer.Option("--description", help="What it does, and when to use it.")
    ] = "Says hello. Use it when somebody is to be greeted.",
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where; by default the skills folder.", show_default=False)
    ] = None,
) -> None:
    """Write a skill to begin with."""
    if not legal_name(name):
        raise UsageError(f"{short(name)!r} is no name for a skill; use small letters, digits and single hyphens")
    if not description.strip() or len(description) > MAX_DESCRIPTION or not description.isprintable():
        raise UsageError(f"--description must be one line of 1 to {MAX_DESCRIPTION} characters")
    place = (folder or load_settings(WorkerSettings).skills_folder) / name
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        place.mkdir()
    except FileExistsError:
        raise UsageError(f"{place} is there already; give another name, or remove it") from None
    for path, text in _files(name, description).items():
        (place / path).parent.mkdir(exist_ok=True)
        (place / path).write_text(text, "utf-8")
    (place / "scripts/hello.py").chmod(0o755)
    say(f"{place}: edit SKILL.md, then `skillfleet skills validate --strict {place}`")


def _files(name: str, description: str) -> dict[str, str]:
    quoted = json.dumps(description, ensure_ascii=False)
    title = name.replace("-", " ").capitalize()
    skill_md = SKILL_MD.format(name=name, description=quoted, version=FIRST_VERSION, title=title)
    return {"SKILL.md": skill_md, "scripts/hello.py": HELLO, "references/guide.md": GUIDE.format(name=name)}
