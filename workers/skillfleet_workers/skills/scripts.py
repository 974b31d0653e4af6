"""The scripts that a skill brings along: found when they are first asked for, read anew when they change."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath

from ..wire.contract import ToolError
from .errors import InterpreterNotFoundError, PathSecurityError, ScriptNotFoundError, ScriptPermissionError
from .languages import FOREIGN, INTERPRETER_MAP, INTERPRETERS, TYPE_BY_EXTENSION, ScriptType, type_of_shebang
from .models import Skill
from .paths import open_inside
from .script_files import SCRIPTS, Stamp, script_files
from .script_text import description

HEAD_BYTES = 4_096
SHEBANG_BYTES = 256
MAX_SCRIPTS = 500
"""Scripts beyond are neither listed nor run."""

MAX_SOURCE_BYTES = 1_048_576
NAMED_SCRIPTS = 50
"""Most scripts that a correction lists."""


@dataclass(frozen=True, slots=True)
class ScriptMetadata:
    """`name` is the file's without its extension; `path` is relative to the skill's root."""

    name: str
    path: Path
    script_type: ScriptType
    description: str

    def get_fully_qualified_name(self, skill_name: str) -> str:
        """Seed 001's name; `script_tool_names` gives one that model providers accept."""
        return f"{skill_name}.{self.name}"


def validate_script_metadata(meta: ScriptMetadata, skill_base_dir: Path) -> None:
    """Raises: ValueError: it contradicts itself, or leads out of the skill."""
    if meta.path.is_absolute():
        raise ValueError(f"Script path must be relative: {meta.path}")
    if meta.script_type not in INTERPRETERS:
        raise ValueError(f"Invalid script type: {meta.script_type}")
    if meta.name != meta.path.stem:
        raise ValueError(f"Name mismatch: name='{meta.name}', path stem='{meta.path.stem}'")
    base = Path(os.path.realpath(skill_base_dir))
    if not Path(os.path.realpath(base / meta.path)).is_relative_to(base):
        raise ValueError(f"Script path leads out of the skill: {meta.path}")


class _UnreadableError(Exception):
    """There is a file, but not one to be read; `why` says it for the model."""

    def __init__(self, why: ToolError) -> None:
        super().__init__(why.message)
        self.why = why


def scripts_of(skill: Skill) -> tuple[ScriptMetadata, ...]:
    """Those in scripts/ first, the nearest of them first, then those in the skill's root."""
    found = (_script(skill.root, path, stamp) for path, stamp in script_files(skill.root))
    return tuple(islice((script for script in found if script), MAX_SCRIPTS))


def find_script(skill: Skill, wanted: str) -> ScriptMetadata:
    """By its path in the skill, else by its path in scripts/, else by its file's name, else by that without its
    extension: the first of `scripts_of`.

    Raises:
        PathSecurityError, ScriptNotFoundError, InterpreterNotFoundError
    """
    path = PurePosixPath(wanted)
    if path.is_absolute() or ".." in path.parts or "\\" in wanted or "\0" in wanted:
        raise PathSecurityError(script=wanted, skill=skill.name)
    scripts = scripts_of(skill)
    if script := _named(path, scripts):
        return script
    raise _not_found(skill, str(path), scripts)


def entry_of(skill: Skill, scripts: Sequence[ScriptMetadata]) -> ScriptMetadata | None:
    """The one of its scripts that the schemas of the skill are about; None: it does not say, and has not only one."""
    if skill.entry is None:
        return scripts[0] if len(scripts) == 1 else None
    return _named(PurePosixPath(skill.entry), scripts)


def _named(path: PurePosixPath, scripts: Sequence[ScriptMetadata]) -> ScriptMetadata | None:
    for place in range(len(_names(path))):
        for script in scripts:
            if _names(script.path)[place] == str(path):
                return script
    return None


def read_script(skill: Skill, script: ScriptMetadata) -> str:
    """The first MAX_SOURCE_BYTES of its source.

    Raises:
        ScriptPermissionError: it would run with the rights of its owner or group.
        PathSecurityError, ScriptNotFoundError: it is not what it was when it was found.
    """
    file = open_inside(skill.root, str(script.path))
    if isinstance(file, ToolError):
        raise _refused(skill, str(script.path), file)
    with file:
        mode = os.fstat(file.fileno()).st_mode
        for bit, name in ((stat.S_ISUID, "setuid"), (stat.S_ISGID, "setgid")):
            if mode & bit:
                raise ScriptPermissionError(bit=name, script=script.path)
        return file.read(MAX_SOURCE_BYTES).decode("utf-8", "replace")


def _names(path: PurePosixPath | Path) -> tuple[str, ...]:
    """What a script goes by, the most exact first."""
    return str(path), str(path).removeprefix(f"{SCRIPTS}/"), path.name, path.stem


def _script(root: Path, path: str, stamp: Stamp) -> ScriptMetadata | None:
    try:
        return _read(root, path, stamp)
    except _UnreadableError:
        return None


@lru_cache(maxsize=8_192)
def _read(root: Path, path: str, stamp: Stamp) -> ScriptMetadata | None:
    """None: it is no script. The stamp was taken before, so that a change in between is seen the next time.

    Raises:
        _UnreadableError
    """
    script = Path(path)
    suffix = script.suffix.lower()
    if suffix in FOREIGN:
        return None
    file = open_inside(root, path)
    if isinstance(file, ToolError):
        raise _UnreadableError(file)
    with file:
        head = file.read(HEAD_BYTES if suffix in TYPE_BY_EXTENSION else SHEBANG_BYTES)
        first_line = head.partition(b"\n")[0].decode("utf-8", "replace")
        kind = TYPE_BY_EXTENSION.get(suffix) or type_of_shebang(first_line)
        if kind is None:
            return None
        text = (head + file.read(HEAD_BYTES - len(head))).decode("utf-8", "replace")
    return ScriptMetadata(script.stem, script, kind, description(text, kind))


def _not_found(skill: Skill, wanted: str, scripts: tuple[ScriptMetadata, ...]) -> Exception:
    """The reason why there is no script of that name; perhaps there is a file, but not one that runs here."""
    for path, stamp in script_files(skill.root):
        file = PurePosixPath(path)
        if wanted not in _names(file):
            continue
        if file.suffix.lower() in FOREIGN:
            return InterpreterNotFoundError(interpreter=INTERPRETER_MAP[file.suffix.lower()], script=path)
        try:
            _read(skill.root, path, stamp)
        except _UnreadableError as unreadable:
            return _refused(skill, path, unreadable.why)
    for path in (wanted, f"{SCRIPTS}/{wanted}"):
        opened = open_inside(skill.root, path)
        if not isinstance(opened, ToolError):
            opened.close()
        elif opened.error == "path_outside_skill":
            return PathSecurityError(script=path, skill=skill.name)
    named = ", ".join(str(script.path) for script in scripts[:NAMED_SCRIPTS])
    return ScriptNotFoundError(script=wanted, skill=skill.name, scripts=named or "no scripts")


def _refused(skill: Skill, path: str, why: ToolError) -> Exception:
    if why.error == "path_outside_skill":
        return PathSecurityError(script=path, skill=skill.name)
    return ScriptNotFoundError(script=path, skill=skill.name, scripts=f"it, but: {why.message.rstrip('.')}")
