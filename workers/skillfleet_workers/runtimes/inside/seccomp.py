"""What a locked-in process may ask of the kernel: a classic BPF program for seccomp(2).

It lists what is denied, since scripts are of every kind; what is newer than the list does not exist. A denied call
fails with an errno that programs know how to live with. The numbers of calls are searched as a tree, and only calls
that need it have their arguments read: so the kernel can tell at once which calls always pass, and never runs the
program for them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1
_FILTER_FLAG_TSYNC = 1

# (code, jump if true, jump if false, constant); every block ends in a return, so that blocks can be strung together.
Block = list[tuple[int, int, int, int]]

_LOAD, _AND, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data."""

_ALLOW: Block = [(_RETURN, 0, 0, 0x7FFF0000)]
_KILL: Block = [(_RETURN, 0, 0, 0x80000000)]

_MACHINES = {"x86_64": (0, 0xC000003E, 317), "aarch64": (1, 0xC00000B7, 277)}
"""The column of the tables below, AUDIT_ARCH and the number of seccomp(2)."""
_X32 = 0x40000000
_NEWEST = 469
"""The last call that was looked at for the tables below (Linux 6.17)."""

Numbers = dict[str, tuple[int, "int | None"]]
"""A call's number on x86_64 and on aarch64, where it may not exist. Since 424 both are the same."""

DENIED: Numbers = {
    # Other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # What outlives a run, as no file does
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Where kernels were broken into
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "modify_ldt": (154, None),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # The machine
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "iopl": (172, None),
    "ioperm": (173, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "syslog": (103, 116),
    "vhangup": (153, 58),
}

NAMESPACES: Numbers = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "setns": (308, 268),
}

ABSENT: Numbers = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}

CHECKED: Numbers = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "personality": (135, 92),
    "ioctl": (16, 29),
    "prlimit64": (302, 261),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
}

# Namespaces of mount, cgroup, uts, ipc, user, pid, net; and of time, whose bit is a part of the signal in clone.
_NEW_ANY, _NEW_TIME = 0x7E020000, 0x80
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_DGRAM, _SOCK_PACKET, _SOCK_TYPES = 1, 2, 10, 0xF
_NETLINK_ROUTE, _ANY_PROTOCOL, _TCP, _UDP = 0, 0, 6, 17
_MSG_FASTOPEN = 0x20000000
_ONESELF = 0
_SAME_PERSONALITY, _WHICH_PERSONALITY = 0, 0xFFFFFFFF


def program(arch: str, *, network: bool, deny_namespaces: bool = True, unix_only: bool = False) -> bytes:
    """The filter for a machine (`os.uname().machine`). Calls of another architecture (i386, x32) kill the process.

    `deny_namespaces` denies mounts too. Without `network`, internet sockets are TCP and UDP only, and TCP connects by
    connect(2) only: the two ways around Landlock's rules for TCP. `unix_only`: no other sockets can be made, not even
    to loopback. Raises KeyError for an unknown machine.
    """
    column, audit, _ = _MACHINES[arch]
    answers = {name: _error(errno.EPERM) for name in DENIED}
    answers.update((name, _error(errno.ENOSYS)) for name in ABSENT)
    answers.update(_checks(network=network))
    if unix_only:
        answers["socket"] = [_argument(0), *_when(_EQUAL, _AF_UNIX, _ALLOW), *_error(errno.EACCES)]
    if deny_namespaces:
        answers.update((name, _error(errno.EPERM)) for name in NAMESPACES)
        answers.update(_namespace_checks())
    numbers = {**DENIED, **ABSENT, **CHECKED, **NAMESPACES}
    rules = sorted(
        (number, answer) for name, answer in answers.items() if (number := numbers[name][column]) is not None
    )
    block = [(_LOAD, 0, 0, _ARCHITECTURE), *_unless(_EQUAL, audit, _KILL), (_LOAD, 0, 0, _NUMBER)]
    if arch == "x86_64":
        block += _when(_AT_LEAST, _X32, _KILL)
    block += [*_when(_GREATER, _NEWEST, _error(errno.ENOSYS)), *_search(rules)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in block)


def install(program: bytes) -> None:
    """Bind every thread of this process, and all that they ever start, to the program, for good. Raises OSError."""
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(instructions))
    failed = _libc.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    if not failed:
        failed = _libc.syscall(_MACHINES[os.uname().machine][2], _SET_MODE_FILTER, _FILTER_FLAG_TSYNC, header)
    if failed > 0:
        raise OSError(errno.ESRCH, f"thread {failed} has a seccomp filter of its own")
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _checks(*, network: bool) -> dict[str, Block]:
    """The calls that depend on their arguments: the low 32 bits, as the kernel heeds no others."""
    checks = {
        "personality": [
            _argument(0),
            *_when(_EQUAL, _SAME_PERSONALITY, _ALLOW),
            *_when(_EQUAL, _WHICH_PERSONALITY, _ALLOW),
            *_error(errno.EPERM),
        ],
        "ioctl": [
            _argument(1),
            *_when(_EQUAL, _TIOCSTI, _error(errno.EPERM)),
            *_when(_EQUAL, _TIOCLINUX, _error(errno.EPERM)),
            *_ALLOW,
        ],
        # Limits of other processes ask for nothing but the same user.
        "prlimit64": [_argument(0), *_when(_EQUAL, _ONESELF, _ALLOW), *_error(errno.EPERM)],
        "socket": _socket(network=network),
        "socketpair": [_argument(0), *_when(_EQUAL, _AF_UNIX, _ALLOW), *_error(errno.EAFNOSUPPORT)],
    }
    if not network:
        for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
            checks[name] = [_argument(flags), *_when(_ANY_BIT, _MSG_FASTOPEN, _error(errno.EOPNOTSUPP)), *_ALLOW]
    return checks


def _namespace_checks() -> dict[str, Block]:
    def without(bits: int) -> Block:
        return [_argument(0), *_when(_ANY_BIT, bits, _error(errno.EPERM)), *_ALLOW]

    # clone3 has its flags in memory, which no filter can read; without it, C libraries use clone.
    return {
        "clone": without(_NEW_ANY),
        "unshare": without(_NEW_ANY | _NEW_TIME),
        "clone3": _error(errno.ENOSYS),
    }


def _socket(*, network: bool) -> Block:
    unknown = _error(errno.EAFNOSUPPORT)
    internet = [_argument(1), (_AND, 0, 0, _SOCK_TYPES), *_when(_EQUAL, _SOCK_PACKET, unknown)]
    if network:
        internet += _ALLOW
    else:
        protocol: Block = [_argument(2)]
        for allowed in (_ANY_PROTOCOL, _TCP, _UDP):
            protocol += _when(_EQUAL, allowed, _ALLOW)
        protocol += _error(errno.EPROTONOSUPPORT)
        for kind in (_SOCK_STREAM, _SOCK_DGRAM):
            internet += _when(_EQUAL, kind, protocol)
        internet += _error(errno.EPROTONOSUPPORT)
    return [
        _argument(0),
        *_when(_EQUAL, _AF_UNIX, _ALLOW),
        *_when(_EQUAL, _AF_INET, internet),
        *_when(_EQUAL, _AF_INET6, internet),
        *_unless(_EQUAL, _AF_NETLINK, unknown),
        _argument(2),
        *_when(_EQUAL, _NETLINK_ROUTE, _ALLOW),
        *unknown,
    ]


def _argument(index: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _error(code: int) -> Block:
    return [(_RETURN, 0, 0, 0x00050000 | code)]


def _when(test: int, constant: int, then: Block) -> Block:
    return [(test, 0, len(then), constant), *then]


def _unless(test: int, constant: int, then: Block) -> Block:
    return [(test, len(then), 0, constant), *then]


def _search(rules: list[tuple[int, Block]]) -> Block:
    """By halves; a jump is of 255 instructions at most, which packing would refuse."""
    if len(rules) <= 2:
        return [step for number, answer in rules for step in _when(_EQUAL, number, answer)] + _ALLOW
    middle = len(rules) // 2
    lower = _search(rules[:middle])
    return [(_AT_LEAST, len(lower), 0, rules[middle][0]), *lower, *_search(rules[middle:])]
