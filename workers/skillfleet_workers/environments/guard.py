"""Runs a command that must not outlive who wants it, however that dies.

A program of its own, run as `python -I -S guard.py COMMAND...` in a new session, with the reading end of a pipe as
standard input. When the last writing end closes, it kills its process group, and itself with it. Not
PR_SET_PDEATHSIG: that fires when the starting thread ends, and Linux alone has it.
"""

import _thread
import os
import signal
import sys


def die_when_closed() -> None:
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    command = sys.argv[1:]
    no_input = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[no_input])
    _thread.start_new_thread(die_when_closed, ())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
