"""Reading the files of a skill so that nothing outside is reached, however the folder changes meanwhile."""

import codecs
import errno
import itertools
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ..wire.contract import READ_LIMIT_BYTES, Document, ToolError
from ..wire.shown import is_text, short
from .models import Skill

LISTED_FILES = 20
BINARY_PROBE_BYTES = 8_192
LONGEST_CHARACTER_BYTES = 4
SKIPPED_FOLDERS = frozenset({"venv", "node_modules", "__pycache__"})

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
ENTER = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY


def document(skill: Skill, relative_path: str | None, offset: int = 0) -> Document | ToolError:
    """A piece of a file of the skill; of its documentation, if no path is given."""
    if relative_path is None:
        relative_path = skill.documentation
    if relative_path is None:
        return _no_documentation(skill)
    file = open_inside(skill.root, relative_path)
    if isinstance(file, ToolError):
        return file
    path = str(PurePosixPath(relative_path))
    with file:
        piece = read_piece(file, offset)
    if isinstance(piece, ToolError):
        return piece.model_copy(update={"message": f"{path}: {piece.message}"})
    text, next_offset, total_bytes = piece
    return Document(
        skill_name=skill.name,
        path=path,
        text=text,
        offset=offset,
        next_offset=next_offset,
        total_bytes=total_bytes,
    )


def read_piece(file: BinaryIO, offset: int, limit: int = READ_LIMIT_BYTES) -> tuple[str, int | None, int] | ToolError:
    """The text from `offset` on, at most `limit` bytes of it; where to read on (None: it ends here); the
    file's size. Pieces end at a line's end where there is one, else at a character's."""
    total = file.seek(0, 2)
    if not 0 <= offset <= total:
        return ToolError(
            error="bad_offset",
            message=f"offset {offset} is outside the file, which has {total} bytes.",
            fix="Use 0, or the next_offset of the last read.",
        )
    file.seek(offset)
    data = file.read(max(limit, LONGEST_CHARACTER_BYTES))
    if b"\0" in data[:BINARY_PROBE_BYTES]:
        return ToolError(
            error="not_text",
            message="it is no text file.",
            fix="Read it from a script with run_python_script.",
        )
    end = offset + len(data)
    if end < total:
        data = data[: _cut(data)]
        end = offset + len(data)
    return data.decode("utf-8", "replace"), end if end < total else None, total


def _cut(data: bytes) -> int:
    """How many bytes make whole lines, or at least whole characters."""
    line_end = data.rfind(b"\n") + 1
    if line_end:
        return line_end
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    begun, _ = decoder.getstate()
    return len(data) - len(begun)


class _OutsideError(Exception):
    """The path leads out of the skill."""


class _ManyNamesError(Exception):
    """It is a file with several hard links."""


class NoFileError(OSError):
    """There is something at the path, but no regular file."""


def open_inside(root: Path, relative: str) -> BufferedReader | ToolError:
    """`root` is a skill's resolved folder. Symlinks may be followed as long as they end in it. Of a file with several
    hard links nobody can tell whether another one lies outside: it is refused."""
    if not _is_relative(relative):
        return _outside(relative)
    try:
        descriptor = _open_beneath(root, root / relative)
    except _OutsideError:
        return _outside(relative)
    except NoFileError:
        fix = f"Name a file. {_files_near(root, relative)}"
        return ToolError(error="not_a_file", message=f"{_shown(relative)} is no regular file.", fix=fix)
    except _ManyNamesError:
        return _hard_linked(relative)
    except OSError as failed:
        return _unreadable(root, relative, failed)
    return os.fdopen(descriptor, "rb")


def _open_beneath(root: Path, path: Path) -> int:
    """Only where there is a symlink on the way, it is resolved first, and what it leads to opened instead."""
    try:
        return _open_plain(root, path)
    except OSError as failed:  # of a symlink: that it is no folder, or no file, or a loop
        if not isinstance(failed, NoFileError) and failed.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
    real = Path(os.path.realpath(path, strict=True))
    if not real.is_relative_to(root):
        raise _OutsideError
    return _open_plain(root, real)


def _open_plain(root: Path, path: Path) -> int:
    """Each part is opened from the folder before it and none may be a symlink: whatever is swapped meanwhile, nothing
    outside is touched."""
    *folders, name = path.relative_to(root).parts or (".",)
    parent = os.open(root, ENTER)
    try:
        for folder in folders:
            inner = os.open(folder, ENTER, dir_fd=parent)
            os.close(parent)
            parent = inner
        descriptor = open_regular(parent, name)
    finally:
        os.close(parent)
    if os.fstat(descriptor).st_nlink > 1:
        os.close(descriptor)
        raise _ManyNamesError
    return descriptor


def open_regular(parent: int, name: str) -> int:
    """A descriptor of the regular file `name` in the folder that `parent` is open on. What is none is not opened at
    all, as opening has effects on some devices and waits on others. Raises NoFileError, OSError."""
    _must_be_regular(os.stat(name, dir_fd=parent, follow_symlinks=False))
    descriptor = os.open(name, _READ, dir_fd=parent)
    try:
        _must_be_regular(os.fstat(descriptor))
    except NoFileError:
        os.close(descriptor)
        raise
    return descriptor


def _must_be_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NoFileError


def _is_relative(path: str) -> bool:
    if not path or path.startswith("/") or "\\" in path or "\0" in path or ".." in path.split("/"):
        return False
    return is_text(path)


def listed_files(root: Path, folder: Path | None = None, limit: int = LISTED_FILES) -> list[str]:
    """Some files of the skill, or of one folder of it, as paths relative to the skill."""
    return sorted(itertools.islice(_walk(root, folder or root), limit))


def _walk(root: Path, folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(n for n in folders if n not in SKIPPED_FOLDERS and not n.startswith("."))
        for name in sorted(files):
            path = str(Path(parent, name).relative_to(root))
            if is_text(path):
                yield path


def _files_near(root: Path, relative: str) -> str:
    try:
        near = Path(os.path.realpath(root / relative))
        near = near if near.is_dir() else near.parent
        inside = near.is_relative_to(root) and near.is_dir()
    except OSError:
        inside = False
    files = (listed_files(root, near) if inside else []) or listed_files(root)
    return f"Files of the skill: {', '.join(files)}" if files else "The skill has no files."


def _outside(relative: str) -> ToolError:
    return ToolError(
        error="path_outside_skill",
        message=f"{_shown(relative)} is not a path inside the skill's folder.",
        fix="Give a path relative to the skill's folder, without '..' or '\\', like 'references/usage.md'.",
    )


def _hard_linked(relative: str) -> ToolError:
    return ToolError(
        error="file_hard_linked",
        message=f"{_shown(relative)} has several hard links, and one may lie outside of the skill.",
        fix="Read another file, or tell the user to replace this one by a copy of it (cp --remove-destination).",
    )


def _unreadable(root: Path, relative: str, failed: OSError) -> ToolError:
    if failed.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
        return ToolError(
            error="file_not_found",
            message=f"The skill has no file {_shown(relative)}.",
            fix=_files_near(root, relative),
        )
    return ToolError(
        error="file_not_readable",
        message=f"{_shown(relative)} cannot be read: {failed.strerror}.",
        fix="Read another file, or tell the user that the worker cannot read this one.",
    )


def _shown(path: str) -> str:
    return repr(short(path, 200))


def _no_documentation(skill: Skill) -> ToolError:
    files = ", ".join(listed_files(skill.root))
    return ToolError(
        error="no_documentation",
        message=f"The skill {skill.name!r} has no SKILL.md.",
        fix=f"Read its files instead: {files}" if files else "The skill has no files: use another one.",
    )
