"""A request as the processes that start scripts take it: fields in a frame, and descriptors that come along."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from .base import RunRequest


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


def framed(folder: str, arguments: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Length, folder, count of arguments, arguments, NAME=value...

    Raises:
        UnrunnableError: a NUL byte or a lone surrogate in an argument or a variable.
    """
    variables = [f"{name}={value}" for name, value in environment.items()]
    fields = [folder, str(len(arguments)), *arguments, *variables]
    if any("\0" in field for field in fields):
        raise UnrunnableError("an argument or an environment variable holds a NUL byte; nothing was run")
    try:
        body = b"".join(os.fsencode(field) + b"\0" for field in fields)
    except UnicodeEncodeError as wrong:
        raise UnrunnableError(f"an argument or a variable is not Unicode: {wrong}") from wrong
    return len(body).to_bytes(8, "big") + body


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
