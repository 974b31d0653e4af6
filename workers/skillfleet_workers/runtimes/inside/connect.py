"""In a container: become PROGRAM, with a socket to the worker as standard output and standard error.

A program of its own, run as `python -I -S connect.py SOCKET PROGRAM...`. Its first message carries the two files in
which the kernel counts this container's memory: how much there is, and how often it was too little.
"""

import os
import socket
import sys

MEMORY = (
    ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.events"),
    ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.oom_control"),
)
"""By version 2 and version 1 of control groups."""


def main() -> None:
    address, program = sys.argv[1], sys.argv[2:]
    usage, events = MEMORY[not os.path.exists(MEMORY[0][0])]
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(address)
    counters = [os.open(path, os.O_RDONLY) for path in (usage, events)]
    socket.send_fds(channel, [b"here"], counters)
    for stream in (1, 2):
        os.dup2(channel.fileno(), stream)
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
