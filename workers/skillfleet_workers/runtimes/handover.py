"""A request as the processes that start scripts take it: fields in a frame, and descriptors that come along."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

from ..wire.shown import is_text, short
from .base import RunRequest

NAME_MAX = 255
"""Bytes of a file's name, as Linux has it."""

MAX_NAME_BYTES = 1024
"""Of the whole name of an input, with its folders."""


class UnrunnableError(ValueError):
    """No process can be made of the request: a lone surrogate in its source, a NUL byte in an argument."""


def described(request: RunRequest) -> dict[str, Any]:
    """The fields of a ScriptExecution that tell what was to be run."""
    given = request.script
    return {
        "skill_name": request.skill_name,
        "script": readable(given) if isinstance(given, str) else "",
        "script_path": "" if isinstance(given, str) else readable(str(request.skill_root / given)),
        "working_directory": readable(str(request.skill_root)),
        "interpreter": readable(str(request.interpreter)),
        "timeout": request.timeout_s,
    }


def readable(text: str) -> str:
    """Without the lone surrogates that no JSON can carry."""
    return text.encode("utf-8", "replace").decode()


def encoded(source: str) -> bytes:
    """Raises: UnrunnableError: it has no encoding."""
    try:
        return source.encode()
    except UnicodeEncodeError as wrong:
        code = ord(source[wrong.start])
        raise UnrunnableError(
            f"the script is not Unicode: lone surrogate U+{code:04X} at character {wrong.start}; nothing ran"
        ) from wrong


def framed(
    folder: str, arguments: Sequence[str], environment: Mapping[str, str], placed: Sequence[str] = ()
) -> bytes:
    """Length, folder, count of arguments, count of `placed`, arguments, placed, NAME=value...

    `placed`: paths at which to lie what comes along as descriptors beyond the streams.

    Raises:
        UnrunnableError: a NUL byte or a lone surrogate in an argument or a variable.
    """
    variables = [f"{name}={value}" for name, value in environment.items()]
    fields = [folder, str(len(arguments)), str(len(placed)), *arguments, *placed, *variables]
    if any("\0" in field for field in fields):
        raise UnrunnableError("an argument or an environment variable holds a NUL byte; nothing was run")
    try:
        body = b"".join(os.fsencode(field) + b"\0" for field in fields)
    except UnicodeEncodeError as wrong:
        raise UnrunnableError(f"an argument or a variable is not Unicode: {wrong}") from wrong
    return len(body).to_bytes(8, "big") + body


def inputs_at(request: RunRequest, folder: str) -> dict[str, Path]:
    """Where in `folder` its inputs are to lie, each with its file.

    Raises:
        UnrunnableError: one would lie elsewhere, two at the same place, or they do not fit.
        OSError
    """
    if not request.inputs:
        return {}
    for name in request.inputs:
        if not _is_inside(name) or not request.inputs.keys().isdisjoint(map(str, PurePosixPath(name).parents)):
            raise UnrunnableError(f"an input has a name that cannot be used: {short(repr(name))}; nothing ran")
    room = min(request.limits.disk_mb, request.limits.memory_mb) << 20
    if sum(file.stat().st_size for file in request.inputs.values()) > room:
        raise UnrunnableError(f"the inputs need more than the {room >> 20} MB that the skill may use; nothing ran")
    return {f"{folder}/{name}": file for name, file in request.inputs.items()}


def _is_inside(name: str) -> bool:
    """A plain relative path."""
    if not is_text(name) or len(name.encode()) > MAX_NAME_BYTES or min(name, default="") < " ":
        return False
    return all(part not in ("", ".", "..") and len(part.encode()) <= NAME_MAX for part in name.split("/"))


def hand_over(control: socket.socket, frame: bytes, descriptors: Sequence[int]) -> None:
    """Raises: OSError: nobody takes it."""
    sent = socket.send_fds(control, [frame], descriptors)
    if sent < len(frame):  # a quick run may have ended already
        control.sendall(frame[sent:])


def pipe(near_until: ExitStack, far_until: ExitStack) -> tuple[int, int]:
    """The end to read, and the other one."""
    near, far = os.pipe()
    near_until.callback(os.close, near)
    far_until.callback(os.close, far)
    return near, far
