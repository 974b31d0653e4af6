"""Children lock themselves in and try; the program for a machine that is not here is read as the kernel would."""

import errno
import os
import re
import signal
import struct
from pathlib import Path

import pytest
from tests.conftest import Require
from tests.workers.locked_in import child, said

from skillfleet_workers.runtimes.inside import seccomp

MACHINE = os.uname().machine
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
TABLES = {**seccomp.DENIED, **seccomp.NAMESPACES, **seccomp.ABSENT, **seccomp.CHECKED}
UNSUPPORTED = errno.errorcode[errno.EOPNOTSUPP]
"""One number has two names."""
NEW_USER, NEW_TIME, ALL_NEW = 0x10000000, 0x80, 0x7E020000

here = pytest.mark.skipif(MACHINE not in MACHINES, reason="there is a filter for x86_64 and aarch64 only")
on_x86_64 = pytest.mark.skipif(MACHINE != "x86_64", reason="a machine that also runs 32-bit code")
users = pytest.mark.parametrize("before", ["", "os.setuid(65534)"] if os.geteuid() == 0 else [""])


def lock(before: str = "", network: bool = False) -> str:
    return f"{before}\nseccomp.install(seccomp.program(os.uname().machine, network={network}))\n"


def numbers(table: seccomp.Numbers, arch: str = MACHINE) -> list[int]:
    column = MACHINES[arch][0]
    return [found for row in table.values() if (found := row[column]) is not None]


def number(name: str, arch: str = MACHINE) -> int:
    found = TABLES[name][MACHINES[arch][0]]
    assert found is not None
    return found


def verdict(
    arch: str, call: int, *arguments: int, audit: int = 0, network: bool = False, namespaces: bool = False
) -> str:
    program = seccomp.program(arch, network=network, deny_namespaces=not namespaces)
    return ruling(program, arch, call, *arguments, audit=audit)


def ruling(program: bytes, arch: str, call: int, *arguments: int, audit: int = 0) -> str:
    """What the kernel would make of a program for `arch`."""
    steps = list(struct.iter_unpack("=HBBI", program))
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", call, audit or MACHINES[arch][1], 0, *padded)
    tests = {0x15: int.__eq__, 0x25: int.__gt__, 0x35: int.__ge__, 0x45: int.__and__}
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, constant = steps[at]
        if code == 0x06:
            actions = {0x7FFF0000: "allow", 0x80000000: "kill"}
            return actions.get(constant) or errno.errorcode[constant & 0xFFFF]
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", data, constant)
        elif code == 0x54:
            loaded &= constant
        else:
            at += if_true if tests[code](loaded, constant) else if_false
        at += 1


@pytest.mark.parametrize("arch", MACHINES)
class TestProgram:
    def test_the_numbers_are_those_of_the_kernels_headers(self, arch: str, require: Require) -> None:
        require(HEADERS[arch].exists(), f"{HEADERS[arch]} (linux-libc-dev)")
        named = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[arch].read_text())
        theirs = {name: int(found) for name, found in named}
        column = MACHINES[arch][0]
        known = {name: row[column] for name, row in TABLES.items() if name in theirs}
        assert len(known) > 50
        assert known == {name: theirs[name] for name in known}

    def test_every_number_gets_the_answer_of_its_table_and_all_others_pass(self, arch: str) -> None:
        wanted = dict.fromkeys(range(470), "allow") | dict.fromkeys(range(470, 500), "ENOSYS")
        wanted |= dict.fromkeys(numbers(seccomp.DENIED, arch) + numbers(seccomp.NAMESPACES, arch), "EPERM")
        wanted |= dict.fromkeys(numbers(seccomp.ABSENT, arch), "ENOSYS")
        for call in numbers(seccomp.CHECKED, arch):
            del wanted[call]
        assert {call: verdict(arch, call) for call in wanted} == wanted

    def test_calls_of_another_architecture_kill(self, arch: str) -> None:
        i386 = 0x40000003
        assert verdict(arch, 1, audit=i386) == "kill"

    def test_namespaces_are_refused_one_by_one_and_threads_are_not(self, arch: str) -> None:
        bits = [1 << bit for bit in range(32) if ALL_NEW & 1 << bit]
        a_thread, high = 0x003D0F00, 1 << 40
        assert len(bits) == 7
        assert {verdict(arch, number(name, arch), bit | high) for name in ("clone", "unshare") for bit in bits} == {
            "EPERM"
        }
        assert verdict(arch, number("unshare", arch), NEW_TIME) == "EPERM"
        assert verdict(arch, number("clone", arch), a_thread | NEW_TIME) == "allow"
        assert verdict(arch, number("clone3", arch)) == "ENOSYS"

    def test_who_may_make_namespaces_may_mount_in_them(self, arch: str) -> None:
        for name in ("clone", "unshare", "clone3", "mount", "pivot_root", "setns", "open_tree"):
            assert verdict(arch, number(name, arch), ALL_NEW, namespaces=True) == "allow"
        assert verdict(arch, number("bpf", arch), namespaces=True) == "EPERM"

    def test_without_network_the_internet_is_tcp_and_udp(self, arch: str) -> None:
        stream, datagram, raw, packets, nonblocking = 1, 2, 3, 5, 0o4000
        tried = {
            (kind, protocol)
            for kind in (stream, datagram, raw, packets)
            for protocol in (0, 1, 6, 17, 132, 262)
            if verdict(arch, number("socket", arch), 10, kind | nonblocking, protocol) == "allow"
        }
        assert tried == {(kind, protocol) for kind in (stream, datagram) for protocol in (0, 6, 17)}

    @pytest.mark.parametrize(("name", "flags"), [("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)])
    def test_no_connection_is_opened_by_sending(self, name: str, flags: int, arch: str) -> None:
        before, fast_open = [0x20000000] * flags, 0x20000000
        assert verdict(arch, number(name, arch), *before, fast_open) == UNSUPPORTED
        assert verdict(arch, number(name, arch), *before, 0x4000) == "allow"
        assert verdict(arch, number(name, arch), *before, fast_open, network=True) == "allow"

    def test_where_unix_sockets_are_all_there_are_no_other_is_made(self, arch: str) -> None:
        steps = seccomp.program(arch, network=False, unix_only=True)
        assert [ruling(steps, arch, number("socket", arch), family, 1) for family in (1, 2, 10, 16, 17, 38, 40)] == [
            "allow", *["EACCES"] * 6
        ]  # fmt: skip

    def test_pairs_of_sockets_are_of_the_unix_family(self, arch: str) -> None:
        assert [verdict(arch, number("socketpair", arch), family, 1) for family in (1, 30)] == [
            "allow",
            "EAFNOSUPPORT",
        ]

    def test_raw_packets_are_refused_whatever_the_network(self, arch: str) -> None:
        old_way_to_packets = 10
        for network in (True, False):
            assert verdict(arch, number("socket", arch), 17, 3, 3, network=network) == "EAFNOSUPPORT"
            assert verdict(arch, number("socket", arch), 2, old_way_to_packets, 3, network=network) == "EAFNOSUPPORT"
        assert verdict(arch, number("socket", arch), 2, 3, 1, network=False) == "EPROTONOSUPPORT"
        assert verdict(arch, number("socket", arch), 2, 2, 1, network=True) == "allow"


def test_an_unknown_machine_has_no_program() -> None:
    with pytest.raises(KeyError):
        seccomp.program("sparc", network=False)


def test_what_is_no_program_is_an_error() -> None:
    tried = child(lock() + "print(attempt(seccomp.install, bytes(8)))")
    assert (tried.returncode, tried.stdout) == (0, "EINVAL\n")


@here
class TestLockedIn:
    @users
    def test_calls_of_the_tables_are_refused(self, before: str) -> None:
        calls = numbers(seccomp.DENIED) + numbers(seccomp.NAMESPACES)
        tried = said(lock(before) + f"print(*[attempt(kernel, call, *[-1] * 6) for call in {calls}])")
        assert tried == ["EPERM"] * len(calls)

    @users
    def test_io_uring_seems_to_be_missing(self, before: str) -> None:
        assert said(lock(before) + "print(attempt(kernel, 425, 8, 0), attempt(kernel, 9999))") == ["ENOSYS"] * 2

    @users
    def test_no_new_namespace_by_any_call(self, before: str) -> None:
        clone, unshare = number("clone"), number("unshare")
        tried = f"print(attempt(kernel, {clone}, {NEW_USER} | 17), attempt(kernel, {unshare}, {NEW_USER}))"
        assert said(lock(before) + tried) == ["EPERM", "EPERM"]
        assert said(lock(before) + "print(attempt(kernel, 435, 0, 0))") == ["ENOSYS"]

    def test_characters_are_not_pushed_into_a_terminal_but_its_size_is_read(self) -> None:
        code = """
import fcntl, pty
terminal = pty.openpty()[1]
for request in (0x5412, 0x541C, 0x5413):
    print(attempt(fcntl.ioctl, terminal, request, bytes(8)))
"""
        assert said(lock() + code) == ["EPERM", "EPERM", "ok"]

    def test_only_the_usual_personality(self) -> None:
        which, linux, fixed_addresses, linux32 = 0xFFFFFFFF, 0, 0x40000, 8
        wanted = [which, linux, fixed_addresses, linux32]
        tried = f"print(*[attempt(kernel, {number('personality')}, one) for one in {wanted}])"
        assert said(lock() + tried) == ["ok", "ok", "EPERM", "EPERM"]

    def test_socket_families(self) -> None:
        unix, inet, inet6, packet, bluetooth, alg, vsock, xdp = 1, 2, 10, 17, 31, 38, 40, 44
        families = [unix, inet, inet6, packet, bluetooth, alg, vsock, xdp]
        tried = said(lock() + f"print(*[attempt(socket.socket, family, 2) for family in {families}])")
        assert tried == ["ok"] * 3 + ["EAFNOSUPPORT"] * 5

    def test_netlink_tells_of_routes_only(self) -> None:
        tried = said(lock() + "print(*[attempt(socket.socket, 16, 3, protocol) for protocol in (0, 4, 9, 15, 16)])")
        assert tried == ["ok"] + ["EAFNOSUPPORT"] * 4
        assert "lo" in said(lock() + "print(*[name for _, name in socket.if_nameindex()])")

    @pytest.mark.parametrize("family", [2, 10])
    def test_without_network_no_way_around_rules_for_tcp(self, family: int) -> None:
        mptcp, sctp, fast_open = 262, 132, 0x20000000
        code = f"""
print(*[attempt(socket.socket, {family}, 1, protocol) for protocol in (0, 6, {mptcp}, {sctp})])
stream = socket.socket({family})
where = ("::1" if {family} == 10 else "127.0.0.1", 9)
print(attempt(stream.sendto, b"x", {fast_open}, where), attempt(stream.sendmsg, [b"x"], [], {fast_open}, where))
"""
        assert said(lock() + code) == ["ok", "ok", "EPROTONOSUPPORT", "EPROTONOSUPPORT", UNSUPPORTED, UNSUPPORTED]

    def test_the_filter_is_for_threads_that_live_already_too(self) -> None:
        before = """
import threading
asked, answers = threading.Event(), []
def later():
    asked.wait()
    answers.append(attempt(kernel, 425, 8, 0))
thread = threading.Thread(target=later)
thread.start()
"""
        assert said(lock(before) + "asked.set()\nthread.join()\nprint(*answers)") == ["ENOSYS"]

    def test_children_inherit_it_and_no_program_gives_them_rights(self) -> None:
        code = """
import subprocess
status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout.split()
print(status[status.index("Seccomp:") + 1], status[status.index("NoNewPrivs:") + 1])
"""
        assert said(lock() + code) == ["2", "1"]

    @on_x86_64
    def test_a_call_by_the_x32_numbers_kills(self) -> None:
        died = child(lock() + "print('lived', flush=True)\nkernel(0x40000000 | 39)\nprint('on')")
        assert (died.stdout, died.returncode) == ("lived\n", -signal.SIGSYS)

    @on_x86_64
    def test_a_call_by_the_i386_gate_kills(self) -> None:
        getpid = r"b'\xb8\x14\x00\x00\x00\xcd\x80\xc3'"
        code = f"""
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write({getpid})
gate = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print('lived', flush=True)
gate()
print('on')
"""
        died = child(lock() + code)
        assert (died.stdout, died.returncode) == ("lived\n", -signal.SIGSYS)
