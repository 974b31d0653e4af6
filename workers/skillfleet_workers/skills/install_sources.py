"""Where a skill is installed from: a folder, an archive, or a git repository (pure)."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from ..wire.shown import is_text, short

FRAGMENT = "#subdirectory="
Protocol = Literal["https", "ssh", "file"]
PROTOCOLS: tuple[Protocol, ...] = ("https", "ssh", "file")

_SCP = re.compile(r"(?P<user>[A-Za-z0-9][\w.-]*)@(?P<host>[A-Za-z0-9][\w.-]*):(?P<path>[^@]+?)(@(?P<ref>.+))?")
_WITH_REF = re.compile(r"(?P<path>.*?\.git|[^@]*)(/?@(?P<ref>.+))?")
_REF = re.compile(r"[A-Za-z0-9][\w./+-]*")


class SourceError(Exception):
    """SOURCE is written wrongly; one line that says how, and the fix."""


@dataclass(frozen=True, slots=True)
class Local:
    """A folder or an archive; `subdirectory` of it, empty: the whole."""

    path: str
    subdirectory: str = ""

    @property
    def shown(self) -> str:
        return _with(self.path, self.subdirectory)


@dataclass(frozen=True, slots=True)
class Repository:
    """`url` as git takes it, perhaps with credentials; `ref` empty: what its HEAD is."""

    url: str
    protocol: Protocol
    ref: str = ""
    subdirectory: str = ""

    @property
    def name(self) -> str:
        return PurePosixPath(self.url.replace(":", "/")).name.removesuffix(".git")

    @property
    def safe_url(self) -> str:
        """For people and files: without credentials."""
        if "://" not in self.url:
            return self.url
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))

    def at(self, commit: str) -> str:
        """As a source that gives the same again."""
        prefix = "git+" if "://" in self.url else ""
        return _with(f"{prefix}{self.safe_url}@{commit}", self.subdirectory)


Source = Local | Repository


def parse_source(text: str) -> Source:
    """Raises: SourceError"""
    if not text.strip() or not is_text(text) or any(character < " " or character == "\x7f" for character in text):
        raise SourceError("SOURCE must be a folder, an archive or the URL of a git repository")
    where, _, subdirectory = text.partition(FRAGMENT)
    if FRAGMENT in text:
        subdirectory = _relative(subdirectory)
    if scp := _SCP.fullmatch(where.removeprefix("git+")):
        url = f"{scp['user']}@{scp['host']}:{scp['path']}"
        return Repository(url, "ssh", _ref(scp["ref"] or ""), subdirectory)
    if "://" in where:
        return _of_url(where, subdirectory)
    return Local(where, subdirectory)


def _of_url(where: str, subdirectory: str) -> Repository:
    parts = urlsplit(where.removeprefix("git+"))
    protocol = next((known for known in PROTOCOLS if known == parts.scheme), None)
    if protocol is None:
        raise SourceError(f"{short(parts.scheme)!r} is no way to get a skill; use https://, ssh:// or file://")
    matched = _WITH_REF.fullmatch(parts.path)
    path, ref = (matched["path"], matched["ref"] or "") if matched else parts.path.rsplit("@", 1)
    if not where.startswith("git+") and protocol == "https" and not path.endswith(".git"):
        raise SourceError(
            "a URL must be of a git repository: write git+https://..., or download the archive and install the file"
        )
    if parts.query or parts.fragment:
        raise SourceError(f"what follows the path must be {FRAGMENT}FOLDER")
    host = parts.netloc.rpartition("@")[2]
    if host.startswith("-") or (protocol == "file") == bool(host) or len(path) < 2:
        raise SourceError(f"{short(Repository(where, protocol).safe_url)!r} is no URL of a git repository")
    url = urlunsplit(parts._replace(path=path))
    return Repository(url, protocol, _ref(ref), subdirectory)


def _ref(ref: str) -> str:
    if ref and (not _REF.fullmatch(ref) or ".." in ref):
        raise SourceError(f"{short(ref)!r} is no name of a branch, a tag or a commit")
    return ref


def _relative(subdirectory: str) -> str:
    path = PurePosixPath(subdirectory)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in subdirectory:
        raise SourceError(f"{FRAGMENT}{short(subdirectory)} must name a folder inside the source")
    return str(path)


def _with(where: str, subdirectory: str) -> str:
    return f"{where}{FRAGMENT}{subdirectory}" if subdirectory else where
