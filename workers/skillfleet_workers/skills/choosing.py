"""Which of the folders in a place are skills, and what they call themselves."""

import json
import os
import unicodedata
from pathlib import Path

from ..wire.contract import ToolError
from .discovery import MAX_LEVELS, MAX_SKILLS
from .frontmatter import FrontmatterError, split
from .members import RefusedError
from .paths import open_inside
from .planting import LEFT_OUT
from .reading import marks_skill
from .skill_md import MAX_NAME

HEAD_BYTES = 65_536


def legal_name(name: str) -> bool:
    """Whether a skill may be called so: small letters, digits and single hyphens."""
    plain = unicodedata.normalize("NFKC", name) == name == name.lower()
    return plain and len(name) <= MAX_NAME and all(part.isalnum() for part in name.split("-"))


def is_skill(folder: Path) -> bool:
    """Raises: OSError"""
    return marks_skill([entry.name for entry in folder.iterdir()])


def skill_folders(place: Path) -> tuple[Path, ...]:
    """`place` itself if it is a skill; else those below it, sorted. Symlinks are not followed.

    Raises:
        OSError: `place` cannot be read.
    """
    if is_skill(place):
        return (place,)
    found = []
    for parent, folders, files in os.walk(place):
        # By their names alone: a SKILL.md that is a folder makes a skill that cannot be read.
        marked = marks_skill([*files, *folders])
        if marked:
            found.append(Path(parent))
        deep = len(Path(parent).relative_to(place).parts) >= MAX_LEVELS
        hidden = [name for name in folders if name in LEFT_OUT or name.startswith(".")]
        folders[:] = [] if deep or marked else sorted(set(folders) - set(hidden))
        if len(found) >= MAX_SKILLS:
            break
    return tuple(sorted(found))


def chosen(place: Path, wanted: str, otherwise: str) -> tuple[str, Path]:
    """The name under which to install, and the skill's folder. `wanted`: which of several, or how the only one is to
    be called; `otherwise`: the name of `place`.

    Raises:
        RefusedError: there is no such skill, or no name for it.
        OSError
    """
    folders = skill_folders(place)
    named = [(_name_of(folder, otherwise if folder == place else folder.name), folder) for folder in folders]
    if not named:
        raise RefusedError("it holds no skill: no folder in it has a SKILL.md or a skill.json")
    fitting = [one for one in named if wanted in ("", one[0])]
    if len(named) == 1:
        fitting = [(wanted or named[0][0], named[0][1])]
    if len(fitting) != 1:
        names = ", ".join(sorted({name for name, _ in named}))
        raise RefusedError(f"it holds several skills: {names}; choose one with --name, or with #subdirectory=FOLDER")
    name, folder = fitting[0]
    if not legal_name(name):
        raise RefusedError(
            f"{name!r} is no name for a skill: give it one of small letters, digits and single hyphens with --name"
        )
    return name, folder


def _name_of(folder: Path, otherwise: str) -> str:
    """What it calls itself, where that may be a folder's name."""
    for file in sorted(entry.name for entry in folder.iterdir()):
        lower = file.lower()
        declared = _declared(folder, file, lower) if lower in ("skill.md", "skill.json") else None
        if isinstance(declared, str) and legal_name(declared):
            return declared
    return otherwise.partition("@")[0]


def _declared(folder: Path, file: str, kind: str) -> object:
    opened = open_inside(Path(os.path.realpath(folder)), file)
    if isinstance(opened, ToolError):
        return None
    with opened:
        text = opened.read(HEAD_BYTES)
    if kind == "skill.md":
        return _of_frontmatter(text)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return fields.get("name") if isinstance(fields, dict) else None


def _of_frontmatter(head: bytes) -> object:
    try:
        tree = split(head).tree
    except FrontmatterError:
        return None
    return tree.value.get("name") if tree else None
