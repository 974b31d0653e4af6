"""Files that a person hands in with a conversation: found, checked and described, before anything is stored."""

import io
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, Any

from skillfleet_workers.wire.blob_reader import BlobReader
from skillfleet_workers.wire.files import (
    IMAGE_TYPES,
    MAX_IMAGE_BYTES,
    MAX_INPUT_BYTES,
    MAX_INPUT_FILES,
    StoredFile,
)
from skillfleet_workers.wire.printable import printable
from skillfleet_workers.wire.shown import is_text

from .errors import BadRequestError

MAX_IMAGES = 20
"""Most images that one message shows the model."""

MAX_IMAGES_BYTES = 16_000_000
"""Of all images of one message. Providers take requests of 32 MB, in which images are a third longer."""

MAX_NAME_BYTES = 200
"""What a file system takes, less what tells two of a name apart."""

MEGABYTE = 1024 * 1024
_OPTIONS = {"images": "--image", "files": "--file"}

Given = str | Path | tuple[str, bytes]
"""A file, or the name and the content of one."""


@dataclass(frozen=True, slots=True)
class HandedFile:
    """`about`: what it was when it was checked; `content`: where it is, or it itself."""

    about: StoredFile
    content: Path | bytes


@dataclass(frozen=True, slots=True)
class Together:
    """`all`: every file of a conversation; `new`: those that its new message tells of; `shown`: the images in it."""

    all: tuple[StoredFile, ...] = ()
    new: tuple[StoredFile, ...] = ()
    shown: tuple[StoredFile, ...] = ()


def read_handed(given: dict[str, Any], base: Path = Path()) -> dict[str, Any]:
    """What is asked, with its `images` and `files` checked. Relative paths are relative to `base`.

    Raises:
        BadRequestError: one line: which option, which file, what is wrong with it.
    """
    read: dict[str, Any] = {}
    for field, option in _OPTIONS.items():
        listed = given.get(field)
        if listed is None:
            continue
        if not isinstance(listed, list | tuple):
            raise BadRequestError(f"{option} needs a list of files")
        read[field] = tuple(_checked(option, one, base) for one in listed)
    return given | read


def together(images: Sequence[HandedFile], files: Sequence[HandedFile], kept: Sequence[StoredFile] = ()) -> Together:
    """With those that the conversation has `kept`. Two of one name are told apart, but for the same file twice.

    Raises:
        BadRequestError: they are too many, or too big.
    """
    if len(images) > MAX_IMAGES:
        raise BadRequestError(f"--image: a message shows at most {MAX_IMAGES} images, not {len(images)}")
    named = {one.name: one for one in kept}
    shown = tuple(_added(named, one.about) for one in images)
    if sum(one.bytes for one in shown) > MAX_IMAGES_BYTES:
        raise BadRequestError(f"--image: the images have more than {MAX_IMAGES_BYTES // 1_000_000} MB together")
    new = dict.fromkeys((*shown, *(_added(named, one.about) for one in files)))
    if len(named) > MAX_INPUT_FILES:
        raise BadRequestError(f"--file: a conversation has at most {MAX_INPUT_FILES} files, not {len(named)}")
    if sum(one.bytes for one in named.values()) > MAX_INPUT_BYTES:
        raise _too_big("--file: the files of the conversation are")
    return Together(tuple(named.values()), tuple(new), tuple(dict.fromkeys(shown)))


def _added(named: dict[str, StoredFile], one: StoredFile) -> StoredFile:
    path = PurePosixPath(one.name)
    for number in count(1):
        name = one.name if number == 1 else f"{path.stem}-{number}{path.suffix}"
        there = named.setdefault(name, one.model_copy(update={"name": name}))
        if there.digest == one.digest:
            return there
    raise AssertionError


def _checked(option: str, given: object, base: Path) -> HandedFile:
    match given:
        case HandedFile():
            handed = given
        case (str(name), bytes(content)):
            handed = HandedFile(_described(name, io.BytesIO(content)), content)
        case str() | Path():
            path = (base / given).absolute()
            handed = HandedFile(_of_path(option, str(given), path), path)
        case _:
            raise BadRequestError(f"{option} needs files, not {type(given).__name__}")
    _check(option, handed.about)
    return handed


def _of_path(option: str, given: str, path: Path) -> StoredFile:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise BadRequestError(f"{option}: {given}: is not a regular file")
        if facts.st_size > MAX_INPUT_BYTES:
            raise _too_big(f"{option}: {given}: is")
        return _read(path, (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns))
    except OSError as wrong:
        raise BadRequestError(f"{option}: {given}: {wrong.strerror}") from None
    except ValueError:
        raise BadRequestError(f"{option}: {given!r}: is no name of a file") from None


@lru_cache(maxsize=1024)
def _read(path: Path, state: tuple[int, ...]) -> StoredFile:
    """A batch names one file thousands of times."""
    with path.open("rb") as stream:
        return _described(path.name, stream)


def _described(name: str, stream: IO[bytes]) -> StoredFile:
    return BlobReader(stream, sys.maxsize).read().described(name)


def _check(option: str, file: StoredFile) -> None:
    if not _is_name(file.name):
        raise BadRequestError(f"{option}: {file.name!r}: is no name for a file; give it a plain one")
    if file.bytes > MAX_INPUT_BYTES:
        raise _too_big(f"{option}: {file.name}: is")
    if option == "--image" and not file.is_image:
        kinds = ", ".join(kind.removeprefix("image/").upper() for kind in IMAGE_TYPES)
        wrong = f"has {file.bytes} bytes, and a model is shown at most {MAX_IMAGE_BYTES}"
        if file.media_type not in IMAGE_TYPES:
            wrong = f"is no image that models take ({kinds}); hand it to scripts with --file"
        raise BadRequestError(f"{option}: {file.name}: {wrong}")


def _is_name(name: str) -> bool:
    """In the one folder in which scripts find it, and as one line of text."""
    if not is_text(name) or len(name.encode()) > MAX_NAME_BYTES:
        return False
    return name not in ("", ".", "..") and "/" not in name and printable(name) == name and len(name.splitlines()) == 1


def _too_big(what: str) -> BadRequestError:
    return BadRequestError(f"{what} more than {MAX_INPUT_BYTES // MEGABYTE} MB; hand in less")
