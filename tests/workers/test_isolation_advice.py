"""What doctor tells the owner of a host that lacks something."""

import pytest

from skillfleet_workers.runtimes import isolation_advice as advice
from skillfleet_workers.runtimes.isolation_advice import Host

UBUNTU = Host(settings={"user.max_user_namespaces": 15_000, "kernel.apparmor_restrict_unprivileged_userns": 1})
UID_MAP_DENIED = "bwrap: setting up uid map: Permission denied"
NO_PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ({"user.max_user_namespaces": 0}, "user.max_user_namespaces=15000"),
        ({"kernel.unprivileged_userns_clone": 0}, "kernel.unprivileged_userns_clone=1"),
        (UBUNTU.settings, "kernel.apparmor_restrict_unprivileged_userns=0"),
    ],
)
def test_the_kernel_setting_that_blocks_namespaces_is_named(settings: dict[str, int], change: str) -> None:
    assert advice.for_namespaces(Host(settings=settings)).startswith(f"sysctl -w {change}")
    assert change in advice.for_bubblewrap(Host(settings=settings), UID_MAP_DENIED)
    assert f"{change}" in advice.for_namespaces(Host(settings=settings, container=True))
    assert " on the host" in advice.for_namespaces(Host(settings=settings, container=True))


def test_settings_that_allow_namespaces_are_not_blamed() -> None:
    allowing = {"user.max_user_namespaces": 15_000, "kernel.unprivileged_userns_clone": 1}
    assert "sysctl" not in advice.for_namespaces(Host(settings=allowing))


def test_in_a_container_the_options_that_open_namespaces_are_named() -> None:
    said = advice.for_bubblewrap(Host(container=True, filtered=True), NO_PROC)
    for option in ("seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"):
        assert f"--security-opt {option}" in said


def test_a_filter_outside_of_containers_is_named() -> None:
    assert "seccomp filter" in advice.for_namespaces(Host(filtered=True))


def test_a_python_that_others_cannot_read_is_no_matter_of_namespaces() -> None:
    said = advice.for_bubblewrap(UBUNTU, "bwrap: Can't find source path /opt/python: Permission denied")
    assert "let every user read" in said


@pytest.mark.parametrize(
    ("host", "way"),
    [
        (Host(), "systemd-run --user --scope -p Delegate=yes skillfleet worker"),
        (Host(root=True), "Delegate=yes"),
        (Host(unified=False), "as root"),
        (Host(container=True, root=True), "docker run --memory"),
    ],
)
def test_the_way_to_control_groups_depends_on_the_host(host: Host, way: str) -> None:
    assert way in advice.for_cgroups(host)


@pytest.mark.parametrize(
    ("landlock_abi", "seccomp", "held", "left_open"),
    [
        (7, True, "Landlock, seccomp, limits for each process; ", "open: unix sockets with a path"),
        (5, True, "Landlock, seccomp, ", "open: signals to the worker and abstract sockets, unix sockets"),
        (7, False, "Landlock, limits", "open: UDP, unix sockets"),
        (3, False, "Landlock, limits", "abstract sockets, sockets, unix sockets"),
        (0, True, "seccomp, limits", "open: files, signals"),
        (0, False, "limits for each process; ", "open: files, signals"),
    ],
)
def test_what_holds_a_plain_process_and_what_that_leaves_open_is_said(
    landlock_abi: int, seccomp: bool, held: str, left_open: str
) -> None:
    said = advice.of_plain_processes(landlock_abi, seccomp=seccomp, no_sandbox="bwrap is not on PATH")
    assert said.startswith(held) and left_open in said
    assert said.endswith("no namespaces because bwrap is not on PATH")
    assert "because" not in advice.of_plain_processes(landlock_abi, seccomp=seccomp, no_sandbox="")


def test_on_a_mac_all_advice_is_to_run_workers_on_linux() -> None:
    mac = Host(system="darwin")
    said = {advice.for_namespaces(mac), advice.for_cgroups(mac), advice.for_landlock(mac), advice.for_seccomp(mac)}
    assert said == {advice.for_bubblewrap(mac, "bwrap is not on PATH")} == {advice.LINUX}
