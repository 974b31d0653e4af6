"""A folder of the worker's that one container sees parts of."""

import os
import shutil
import socket
import tempfile
from pathlib import Path

from ..inside.config import OUTPUT
from .hardening import CLOSED_TOP, Shown, below_closed_top

SOCKET = "socket"


class Place:
    """Private to this worker and `user`, who is the container's."""

    def __init__(self, scratch: Path, user: tuple[int, int]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="container-", dir=scratch)).absolute()
        self._user = user
        self.channel = self.folder / "channel"
        """Where SOCKET is."""

    def listen(self) -> socket.socket:
        """Raises OSError."""
        self._own(self.channel.name)
        opened = os.open(self.channel, os.O_PATH | os.O_DIRECTORY)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            listener.bind(f"/proc/self/fd/{opened}/{SOCKET}")  # a socket's path must be short
            os.chown(self.channel / SOCKET, *self._user)
            listener.listen(1)
        except BaseException:
            listener.close()
            raise
        finally:
            os.close(opened)
        return listener

    def output(self) -> Path:
        """For what a run hands over."""
        self._own(OUTPUT)
        return self.folder / OUTPUT

    def way_to(self, paths: tuple[Path, ...]) -> tuple[Shown, ...]:
        """What makes the paths reachable to others than root. It must stay as long as the container."""
        below = below_closed_top(paths)
        if not below:
            return ()
        top = self.folder / "top"
        for path in below:
            (top / path).mkdir(parents=True, exist_ok=True)
        for folder in (top, *top.rglob("*")):
            folder.chmod(0o755)
        return (Shown(top, CLOSED_TOP),)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _own(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(0o700)
        os.chown(folder, *self._user)
        return folder
