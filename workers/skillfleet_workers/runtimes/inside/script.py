"""The process that will be the script: locked in ahead, then given its request, then as a plain `python file.py`."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import _thread
import atexit
import ctypes
import gc
import os
import resource
import sys
from _functools import partial  # type: ignore[import-not-found]
from itertools import takewhile

from . import landlock, seccomp
from .config import DESCRIPTORS, NO_CORE, OUTPUT, Config
from .nest import holding_the_interpreter, libc

TYPE_CHECKING = False
if TYPE_CHECKING:  # the true one is in a module that costs much to load
    from collections.abc import Callable, Iterator

MOST_OPEN = 1 << 20
PR_SET_DUMPABLE = 4

python = ctypes.pythonapi
libc.fopen.restype = ctypes.c_void_p

template_modules: list[str] = []
ends_in_steps: list[bool] = []
immortal: list[object] = []


class Request:
    """`arguments`: the interpreter, the script, and what follows. `placed`: where the files that come along are to
    lie. It is read from the fields of `handover.framed`."""

    def __init__(self, fields: list[str]) -> None:
        self.folder = fields[0]
        first = 3 + int(fields[1])
        last = first + int(fields[2])
        self.arguments, self.placed = fields[3:first], fields[first:last]
        self.script = self.arguments[1]
        pairs = (variable.partition("=") for variable in fields[last:])
        self.variables = {name: value for name, _, value in pairs}


def keep(names: frozenset[str]) -> None:
    """Of the modules that are loaded, scripts see these; all live for ever: to free one would copy its memory."""
    loaded = dict(sys.modules)
    immortal.extend(loaded.values())
    python.Py_IncRef(ctypes.py_object(immortal))
    for name in loaded.keys() - names:
        del sys.modules[name]
    template_modules.extend(name for name in sys.modules if name != "__main__")


def forget_the_template() -> None:
    """An interpreter takes its modules apart at its own end, which would copy all memory of the template's."""
    for name in () if ends_in_steps else template_modules:
        if name not in ("sys", "builtins"):
            sys.modules.pop(name, None)


def prepare(config: Config) -> None:
    """All that can be done before the request is known."""
    os.setsid()
    os.chdir(config.folder)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else its own /proc/self would be closed to it
    lock_in(config)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # the random module does so by itself
    os.environ.clear()
    touch()
    _thread.stack_size(0)
    main = type(sys)("__main__")
    vars(main).update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = main


def touch() -> None:
    """Do once what every script will do: a fork's first write to each page of memory costs a copy of it."""
    os.environ.update(dict.fromkeys(map(str, range(16)), ""))
    os.environ.clear()
    nothing = "def f(x):\n    return [str(x)]\nfor i in range(20):\n    f({i: (i, 'a')})\n"
    for _ in range(2):
        exec(compile(nothing, "nothing", "exec"), {})
    empty = libc.fopen(os.devnull.encode(), b"rb")
    python.PyRun_SimpleFileExFlags(ctypes.c_void_p(empty), b"nothing", 1, None)
    gc.collect()


def lock_in(config: Config) -> None:
    """For good, with all that it starts."""
    set_limits(config)
    if config.readable or config.writable:
        landlock.restrict(config.readable, config.writable, network=config.network)
    if config.filter:
        seccomp.install(config.filter)


def set_limits(config: Config) -> None:
    limits = [(resource.RLIMIT_CORE, NO_CORE)]
    if config.pids:
        limits.append((resource.RLIMIT_NPROC, config.pids))
    if config.memory_mb:
        limits.append((resource.RLIMIT_AS, config.memory_mb << 20))
    for kind, most in limits:
        resource.setrlimit(kind, (most, most))
    if seconds := config.cpu_seconds:  # SIGXCPU first: it says why
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def tidy_up(config: Config) -> None:
    """Where runs share their folders: leave nothing of the last one, and make the work folder anew.

    Raises:
        OSError: what is left would be seen by the next run.
    """
    for top in config.emptied:
        empty(top, os.lstat(top).st_dev)
    os.makedirs(os.path.join(config.work, OUTPUT), 0o700)


def empty(folder: str, device: int) -> None:
    """Remove all that is ours; a folder that the engine has made, to mount something below it, stays."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        found = os.lstat(path)
        if found.st_dev != device:
            continue
        if found.st_mode & 0o170000 != 0o040000:
            os.unlink(path)
        elif found.st_uid == os.getuid():
            os.chmod(path, 0o700)
            empty(path, device)
            os.rmdir(path)


def read_request(control: _socket.socket, config: Config) -> Request:
    """Standard input, output and error come with it, and what is to lie in the work folder."""
    head, passed, _, _ = control.recvmsg(8, _socket.CMSG_SPACE(4 * DESCRIPTORS), _socket.MSG_WAITALL)
    if not passed:
        os._exit(0)  # the worker has no use for this spare
    length = int.from_bytes(head, "big")
    fields = control.recv(length, _socket.MSG_WAITALL).split(b"\0")[:-1]
    request = Request([os.fsdecode(field) for field in fields])
    streams = memoryview(passed[0][2]).cast("i").tolist()
    for wanted, descriptor in enumerate(streams[:3]):
        os.dup2(descriptor, wanted)
    for number, path in enumerate(request.placed, 3):
        place(path, streams[number])
    for descriptor in streams:  # received ones outlive an exec
        os.close(descriptor)
    control.sendall(b"started %d\n" % os.getpid())
    if config.execs:
        execute(request, control)
    os.closerange(3, MOST_OPEN)
    return request


def execute(request: Request, control: _socket.socket) -> None:
    """Become another program; what is open but for its streams closes by itself."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    try:
        os.execve(request.arguments[0], request.arguments, request.variables)
    except OSError as wrong:
        control.sendall(f"failed {wrong.strerror}: {request.arguments[0]}\n".encode())
        os._exit(127)


def place(path: str, descriptor: int) -> None:
    """Write a file of what is read from there. Not the worker's part: the files of this user namespace may have no
    owner in its own."""
    file = made(path)
    while os.sendfile(file, descriptor, None, 1 << 24):
        pass
    os.close(file)


def made(path: str) -> int:
    """A file to write to; also the folders above it."""
    try:
        return os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700)
        return os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)


def become(request: Request) -> int:
    """What a plain interpreter would have set up; the open file of the script, a FILE*."""
    os.environ.update(request.variables)
    sys.argv = request.arguments[1:]
    sys.orig_argv = list(request.arguments)
    sys.path[:0] = [os.path.dirname(os.path.realpath(request.script)), *search_path(request)]
    if "TZ" in request.variables:
        sys.modules["time"].tzset()
    gc.enable()
    opened = libc.fopen(os.fsencode(request.script), b"rb")
    if not opened:
        number = ctypes.get_errno()
        told = f"{sys.executable}: can't open file {request.script!r}: [Errno {number}] {os.strerror(number)}\n"
        os.write(2, told.encode())
        os._exit(2)
    return int(opened)


def search_path(request: Request) -> list[str]:
    """What PYTHONPATH adds: the template has none, or it would import the skill's own modules."""
    return [path for path in request.variables.get("PYTHONPATH", "").split(":") if path]


def ending(outcome: list[int]) -> Iterator[Callable[[], object]]:
    """As the end of a plain interpreter: threads, atexit, what the script has made, flush, exit code.

    The interpreter's own end is as good, but takes apart what the template has made. It is what a script gets that
    leaves by SystemExit, and one that can't be flushed. What runs code of the script is yielded, to be called from
    where no frame of ours lies below.
    """
    failed = int(outcome.pop() != 0)
    natural = partial(python.Py_Exit, failed)
    ends_in_steps.append(True)
    if "threading" in sys.modules:
        yield sys.modules["threading"]._shutdown
    yield atexit._run_exitfuncs
    if not flushed():
        yield natural
    interrupted = failed and getattr(sys, "last_type", None) is KeyboardInterrupt
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    # Newest first, as to look at the template's would copy their memory.
    own = list(takewhile(template_modules[-1].__ne__, reversed(sys.modules)))
    for name in ("__main__", *reversed(own)):
        sys.modules.pop(name, None)
    gc.collect()
    if not flushed():
        yield natural
    if interrupted:
        libc.fflush(None)
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)
    yield partial(holding_the_interpreter.exit, failed)


def flushed() -> bool:
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except BaseException:  # noqa: BLE001  it is met again at the interpreter's own end, and told there
        return False
    return True
