"""Started as `python -m inside CONFIG`, with a seqpacket socket to the worker as standard output and standard error.

Those are what a script's streams will be, neither terminal nor file, so that their objects fit already; and what
goes wrong before the interpreter is up reaches the worker.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # the true one is in a module that costs much to load
    from collections.abc import Callable

CHANNEL = 2


def start() -> None:
    from marshal import loads  # noqa: PLC0415  nothing of ours may be imported before what scripts import

    fields = loads(bytes.fromhex(sys.argv[1]))
    # What is imported ahead may be named by a script: it finds nothing of ours, neither by path nor by name.
    del sys.path[0]
    own = sys.modules.pop(__package__)
    late: list[Callable[[], None]] = []
    atexit.register(lambda: late[0]())  # the first to be registered is the last to be called
    for name in fields["imports"]:
        try:
            __import__(name)
        except BaseException as failed:  # noqa: BLE001  a module may do anything; its script will say so itself
            os.write(CHANNEL, b"not imported ahead: %s: %r\n" % (name.encode(), failed))
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        os.write(CHANNEL, b"threads %d" % threads)
        os._exit(3)
    kept = frozenset(sys.modules)
    sys.modules[__package__] = own
    from . import template  # noqa: PLC0415

    template.serve(fields, os.dup(CHANNEL), kept, late)


start()
