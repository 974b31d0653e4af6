"""Packages made on the spot, so that a test needs no index to install something."""

import base64
import hashlib
import io
import tarfile
import zipfile


def wheel(name: str, files: dict[str, str], requires: str = "") -> bytes:
    """Version 1.0 of a pure wheel, for a file named `{name}-1.0-py3-none-any.whl`."""
    info = f"{name}-1.0.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_digest(text)},{len(text.encode())}\n" for path, text in content.items())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in {**content, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return buffer.getvalue()


def source_archive(name: str, backend: str) -> bytes:
    """Version 1.0 of a source distribution that is built by `backend`, the code of a build backend."""
    build_system = 'requires = []\nbuild-backend = "backend"\nbackend-path = ["."]'
    project = f'[build-system]\n{build_system}\n[project]\nname = "{name}"\nversion = "1.0"\n'
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in {"pyproject.toml": project, "backend.py": backend}.items():
            member = tarfile.TarInfo(f"{name}-1.0/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
