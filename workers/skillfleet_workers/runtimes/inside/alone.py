"""The init of a container that is made for one run: it starts the script, tells how it goes, and ends with it.

Started as `python -m inside.alone CONFIG`. Standard input brings the order: a frame of `handover.framed`, and,
each after its length, what the script reads and what is to be placed. One byte more, or the end, is the order to
kill. Standard output takes UP, and then frames: a HEADER and as many bytes as it says.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import marshal
import os
import select
import stat
import struct
import sys

from .config import OUTPUT, Config
from .connect import MEMORY
from .init import bury_orphans, tell_end
from .nest import libc
from .script import PR_SET_DUMPABLE, Request, lock_in, made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UP = b"up"
HEADER = struct.Struct(">BL")
STDOUT, STDERR, CONTROL, NAME, CONTENT = range(1, 6)
"""What follows: of the script's streams, a line for the control of its run, the path of a file in its output folder,
a piece of that file."""

PIECE_BYTES = 65_536
LENGTH_BYTES = 8
MOST_DEPTH = 64
"""Of folders in the output folder: beyond that a path may be longer than can be said."""

MOST_FILES = 1000
"""Many more than a worker takes; a script may make tens of thousands of empty ones."""

FIRST_TO_GO = b"800"
"""Where memory runs out, the script is killed rather than its init, who tells of it."""


class Frames:
    """A socket to `init`, which says its lines there."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, kind: int, content: bytes) -> None:
        written(self._descriptor, HEADER.pack(kind, len(content)) + content)

    def sendall(self, line: bytes) -> None:
        self.say(CONTROL, line)


def main() -> None:
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # a script of the same user could say things in our place
    config = Config(**marshal.loads(bytes.fromhex(sys.argv[1])))
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    frames = Frames(os.dup(1))
    output = os.path.join(config.work, OUTPUT)
    os.makedirs(output, 0o700)
    os.write(1, UP)
    request, stdin = read_order()
    before = oom_kills()
    streams: dict[int, int] = {}
    theirs = [stdin]
    for kind in (STDOUT, STDERR):
        near, far = os.pipe()
        streams[near] = kind
        theirs.append(far)
    woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    _signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    child = os.fork()
    if not child:
        become(request, theirs, config, frames)
    for descriptor in theirs:
        os.close(descriptor)
    ordered = attend(child, streams, woken, frames)
    tell_end(config, frames, child, ordered)
    for stream, kind in streams.items():
        while piece := os.read(stream, PIECE_BYTES):
            frames.say(kind, piece)
    frames.sendall(b"oom_kills %d\n" % (oom_kills() - before))
    hand_over(output, config.disk_mb << 20, frames)


def read_order() -> tuple[Request, int]:
    """With it a file of what the script is to read."""
    fields = exactly(number(LENGTH_BYTES)).split(b"\0")[:-1]
    request = Request([os.fsdecode(field) for field in fields])
    stdin = memory_file(exactly(number(LENGTH_BYTES)))
    for path in request.placed:
        file = made(path)
        for piece in pieces(number(LENGTH_BYTES)):
            written(file, piece)
        os.close(file)
    return request, stdin


def number(size: int) -> int:
    return int.from_bytes(exactly(size), "big")


def exactly(count: int) -> bytes:
    return b"".join(pieces(count))


def pieces(count: int) -> Iterator[bytes]:
    """Of standard input; where it ends early, so do we: the worker is gone."""
    while count:
        piece = os.read(0, min(count, 1 << 20))
        if not piece:
            sys.exit()
        count -= len(piece)
        yield piece


def written(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def memory_file(content: bytes) -> int:
    writing = os.memfd_create("skillfleet")
    os.write(writing, content)
    reading = os.open(f"/proc/self/fd/{writing}", os.O_RDONLY)
    os.close(writing)
    return reading


def become(request: Request, streams: list[int], config: Config, frames: Frames) -> None:
    """The script's process. What is open but for its streams closes by itself."""
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    os.setsid()
    with open("/proc/self/oom_score_adj", "wb") as file:
        file.write(FIRST_TO_GO)
    for wanted, descriptor in enumerate(streams):
        os.dup2(descriptor, wanted)
    for ignored in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT):
        _signal.signal(ignored, _signal.SIG_DFL)
    lock_in(config)
    frames.sendall(b"started %d\n" % os.getpid())
    try:
        os.chdir(request.folder)
        os.execvpe(request.arguments[0], request.arguments, request.variables)
    except OSError as wrong:
        frames.sendall(f"failed {wrong.strerror}: {request.arguments[0]}\n".encode())
    os._exit(127)


def attend(child: int, streams: dict[int, int], woken: int, frames: Frames) -> bool:
    """Until the script itself has ended, or is to be killed: whether it is."""
    poller = select.poll()
    for descriptor in (0, woken, *streams):
        poller.register(descriptor, select.POLLIN)
    while not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        for descriptor, _ in poller.poll():
            if descriptor == 0:
                return True
            if descriptor == woken:
                os.read(woken, PIECE_BYTES)
                bury_orphans(child)
            elif piece := os.read(descriptor, PIECE_BYTES):
                frames.say(streams[descriptor], piece)
            else:
                poller.unregister(descriptor)
    return False


def oom_kills() -> int:
    """0 as well where the kernel does not tell."""
    for _, events in MEMORY:
        try:
            with open(events) as file:
                words = file.read().split()
            return int(words[words.index("oom_kill") + 1])
        except (OSError, ValueError):
            continue
    return 0


def hand_over(output: str, room: int, frames: Frames) -> None:
    """The regular files of the output folder. All that could change it is dead; sparse ones say they are large."""
    if os.path.islink(output):
        return
    files = 0
    for folder, below, names in os.walk(output):
        if folder.count("/") - output.count("/") >= MOST_DEPTH:
            below.clear()
        for name in names:
            path = os.path.join(folder, name)
            try:
                found = os.lstat(path)
            except OSError:  # too long a path
                continue
            if not stat.S_ISREG(found.st_mode) or found.st_size > room or not os.access(path, os.R_OK):
                continue
            room -= found.st_size
            files += 1
            if files > MOST_FILES:
                return
            frames.say(NAME, os.fsencode(os.path.relpath(path, output)))
            with open(path, "rb") as file:
                while piece := file.read(PIECE_BYTES):
                    frames.say(CONTENT, piece)


if __name__ == "__main__":
    main()
