"""Ways out of a sandbox that are known from elsewhere. What fails raises OSError; what does not has got out."""

import json

TRIES = """
import ctypes, json, os, resource, shutil, signal, socket, stat, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def must(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
def system_call(x86_64, aarch64, *arguments):
    return must(libc.syscall(x86_64 if os.uname().machine == "x86_64" else aarch64, *arguments))
def read(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(1)
def write(path, text=b""):
    with open(path, "wb", buffering=0) as file:
        file.write(text)
home = os.environ["HOME"]
for name, attempt in json.loads(sys.argv[1]).items():
    try:
        print("got in by", name, eval(attempt))
    except OSError:
        pass
print("tried all")
"""

NAMESPACES = {
    "a user namespace": "must(libc.unshare(0x10000000))",
    "a mount namespace": "must(libc.unshare(0x00020000))",
    "a network namespace": "must(libc.unshare(0x40000000))",
    "a process namespace": "must(libc.unshare(0x20000000))",
    "a time namespace": "must(libc.unshare(0x80))",
    "a control group namespace": "must(libc.unshare(0x02000000))",
    "clone into a user namespace": "system_call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)",
    "clone3": "system_call(435, 435, 0, 0)",
    "the namespaces of process 1": "must(libc.setns(os.open('/proc/1/ns/mnt', os.O_RDONLY), 0))",
    "its own user namespace again": "must(libc.setns(os.open('/proc/self/ns/user', os.O_RDONLY), 0))",
}

MOUNTS = {
    "the root mounted anew for writing": "must(libc.mount(None, b'/', None, 32 | 4096, None))",
    "/usr mounted anew for writing": "must(libc.mount(None, b'/usr', None, 32 | 4096, None))",
    "a mount over a folder": "must(libc.mount(b'none', b'/tmp', b'tmpfs', 0, None))",
    "a bind mount": "must(libc.mount(b'/usr', b'/tmp', None, 4096, None))",
    "what /tmp covers": "must(libc.umount2(b'/tmp', 2))",
    "what /proc covers": "must(libc.umount2(b'/proc', 2))",
    "what /dev/shm covers": "must(libc.umount2(b'/dev/shm', 2))",
    "a copy of the mounts": "system_call(428, 428, -100, b'/', 1)",
    "a file system": "system_call(430, 430, b'tmpfs', 0)",
    "chroot": "os.chroot(home)",
    "pivot_root": "system_call(155, 41, home.encode(), home.encode())",
    "a file handle": "system_call(304, 265, -100, 0, 0)",
}

PROCESSES = {
    "tracing its init": "must(libc.ptrace(16, 1, 0, 0))",
    "tracing its parent": "must(libc.ptrace(16, os.getppid(), 0, 0))",
    "being traced": "must(libc.ptrace(0, 0, 0, 0))",
    "the memory of its init": "read('/proc/1/mem')",
    "the maps of its init": "read('/proc/1/maps')",
    "the environment of its init": "read('/proc/1/environ')",
    "the root of its init": "os.listdir('/proc/1/root')",
    "the folder of its init": "os.listdir('/proc/1/cwd')",
    "a descriptor of its parent": "[os.readlink(f'/proc/{os.getppid()}/fd/{n}') for n in range(8)]",
    "the memory of its parent": "read(f'/proc/{os.getppid()}/mem')",
    "a parent's descriptor by its pidfd": "system_call(438, 438, os.pidfd_open(os.getppid()), 0, 0)",
    "process_vm_readv": "system_call(310, 270, os.getppid(), 0, 0, 0, 0, 0)",
    "the limits of its init": "resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))",
    "the limits of its parent": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))",
    "killing its init": "os.kill(1, signal.SIGKILL)",
    "stopping its parent": "os.kill(os.getppid(), signal.SIGSTOP)",
    "stopping its parent by its pidfd": "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGSTOP)",
    "its parent's place in the queue": "os.setpriority(os.PRIO_PROCESS, os.getppid(), -5)",
    "its own place in the queue": "os.nice(-1)",
}

THE_MACHINE = {
    "who handles core dumps": "write('/proc/sys/kernel/core_pattern', b'core')",
    "the name of the host": "write('/proc/sys/kernel/hostname', b'mine')",
    "how memory is given": "write('/proc/sys/vm/overcommit_memory', b'0')",
    "the network's settings": "write('/proc/sys/net/ipv4/ip_forward', b'0')",
    "sysrq": "write('/proc/sysrq-trigger')",
    "the map of users": "write('/proc/self/uid_map', b'0 0 1')",
    "groups": "write('/proc/self/setgroups', b'allow')",
    "kernel memory": "read('/proc/kcore')",
    "kernel messages": "read('/proc/kmsg')",
    "physical memory": "read('/dev/mem')",
    "the kernel's log": "read('/dev/kmsg')",
    "a console": "os.close(os.open('/dev/console', os.O_RDWR | os.O_NOCTTY))",
    "a terminal": "os.close(os.open('/dev/tty', os.O_RDWR))",
    "a control group": "write('/sys/fs/cgroup/cgroup.procs')",
    "a setting of a device": "write('/sys/power/state')",
    "a disk of its own making": "os.mknod(home + '/disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0))",
    "/dev/null of its own making": "os.mknod(home + '/null', 0o600 | stat.S_IFCHR, os.makedev(1, 3))",
    "BPF": "system_call(321, 280, 0, 0, 0)",
    "performance counters": "system_call(298, 241, 0, 0, -1, -1, 0)",
    "userfaultfd": "system_call(323, 282, 1)",
    "io_uring": "system_call(425, 425, 1, home.encode())",
    "a key of the kernel's": "system_call(250, 219, 0, -3, 0)",
    "a kernel module": "system_call(313, 273, 0, b'', 0)",
    "watching a whole file system": "must(libc.fanotify_init(0, 0))",
    "shared memory of System V": "must(libc.shmget(0, 4096, 0o1600))",
    "a message queue of System V": "must(libc.msgget(0, 0o1600))",
    "a posix message queue": "system_call(240, 180, b'queue', os.O_CREAT | os.O_RDWR, 0o600, 0)",
    "raw packets": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
    "the hypervisor": "socket.socket(40, socket.SOCK_STREAM)",
    "the kernel's ciphers": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "the firewall": "socket.socket(16, socket.SOCK_RAW, 12)",
    "a keystroke on a terminal": "__import__('fcntl').ioctl(os.openpty()[1], 0x5412, b'x')",
}

FILES = {
    "the passwords": "read('/etc/shadow')",
    "root's own": "read(os.path.join('/root', '.profile'))",
    "a place beside its own code": "write('/run/skillfleet/inside/planted')",
    "a hard link": "os.link('/etc/passwd', home + '/passwd')",
    "the memory of a program": "write(sys.executable)",
    "/etc": "write('/etc/planted')",
    "/usr": "write('/usr/planted')",
    "the device folder": "write('/dev/planted')",
    "another owner for its file": "(write(home + '/mine'), os.chown(home + '/mine', 0, 0))",
    "a capability for its folder": "os.setxattr(home, 'security.capability', b'x' * 20)",
    "another user's id": "os.setuid(0)",
    "another group's id": "os.setgid(0)",
    "another user's groups": "os.setgroups([0])",
    "its worker's place": "os.listdir('/var/lib/docker')",
    "the socket that it came by": "socket.socket(1, socket.SOCK_SEQPACKET).connect('/run/skillfleet/channel/socket')",
    "the Docker engine": "socket.socket(1).connect('/var/run/docker.sock')",
}

WAYS = {"namespaces": NAMESPACES, "mounts": MOUNTS, "processes": PROCESSES, "machine": THE_MACHINE, "files": FILES}
ARGUMENTS = {kind: (json.dumps(ways),) for kind, ways in WAYS.items()}

WRITES_EVERYWHERE = """
import os
places = {line.split()[4] for line in open("/proc/self/mountinfo")}
for place in sorted(places):
    try:
        with open(os.path.join(place, "trace"), "x"):
            print(place)
    except OSError:
        pass
"""
"""The mounts in which a file could be made; all of them at the first try, if nothing stays."""

SETUID_PROGRAMS = """
import os, subprocess
for name, arguments in (("su", ["-c", "id -u"]), ("mount", ["-t", "tmpfs", "x", "/tmp"]), ("newgrp", ["root"])):
    try:
        done = subprocess.run([name, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        print(name, "failed" if done.returncode else "worked", done.stdout.strip())
    except FileNotFoundError:
        print(name, "failed")
"""

EMPTY_FILES = """
import os
made = 0
try:
    while made < 1_000_000:
        os.mknod(os.path.join(os.environ["HOME"], str(made)))
        made += 1
except OSError:
    pass
print(made)
"""

TOLD_AT_IMPORT = """
import os, socket
found = []
for path in ("/etc/shadow", os.path.join("/root", ".profile")):
    if os.access(path, os.R_OK):
        found.append(path)
try:
    socket.create_connection(("127.0.0.1", {port}), 1)
    found.append("the host's network")
except OSError:
    pass
try:
    open("/usr/planted", "w")
    found.append("/usr")
except OSError:
    pass
found += [name for name in os.environ if "SECRET" in name]
"""
