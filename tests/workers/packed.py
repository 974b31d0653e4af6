"""Archives made on the spot, good and bad."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

SKILL_MD = "---\nname: pdf-tools\ndescription: Reads PDF files. Use it for PDF files.\n---\nRead them.\n"
GOOD = {"pdf-tools/SKILL.md": SKILL_MD, "pdf-tools/scripts/read.py": "print('read')\n"}


def tar_member(name: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar_gz(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with gzip.open(path, "wb", compresslevel=6) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return path


def zip_member(name: str, content: bytes = b"", mode: int = 0, **fields: object) -> tuple[zipfile.ZipInfo, bytes]:
    """`mode` with the bits of its type, as on Unix; 0: it has none."""
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    info.external_attr, info.create_system = mode << 16, 3
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def zipped(path: Path, *members: tuple[zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in members:
            archive.writestr(info, content)
    return path


def good_zip(path: Path, files: Mapping[str, str] = GOOD) -> Path:
    return zipped(path, *(zip_member(name, text.encode(), 0o100755) for name, text in files.items()))


def good_tar(path: Path, files: Mapping[str, str] = GOOD) -> Path:
    return tar_gz(path, *(tar_member(name, text.encode(), mode=0o755) for name, text in files.items()))
