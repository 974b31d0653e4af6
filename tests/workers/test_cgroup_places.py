"""Our own group's folders, from what /proc says on hosts of every kind."""

from pathlib import Path

from skillfleet_workers.runtimes.cgroup_places import UNIFIED, own_groups

V2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = """\
30 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
35 30 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
36 30 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
"""
CONTAINER = "90 80 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"


def test_one_tree_holds_all_on_a_host_of_version_2() -> None:
    found = own_groups(V2, "0::/user.slice/session-3.scope\n")
    assert found == {UNIFIED: Path("/sys/fs/cgroup/user.slice/session-3.scope")}


def test_every_controller_has_its_own_mount_on_a_host_of_version_1() -> None:
    found = own_groups(V1, "4:memory:/app\n3:cpu,cpuacct:/slow:lane\n2:pids:/app\n1:name=systemd:/\n")
    assert found["memory"] == Path("/sys/fs/cgroup/memory/app")
    assert found["cpu"] == Path("/sys/fs/cgroup/cpu,cpuacct/slow:lane")
    assert "pids" not in found


def test_both_are_found_on_a_mixed_host() -> None:
    found = own_groups(V1 + V2.replace("cgroup rw", "cgroup/unified rw"), "4:memory:/app\n0::/\n")
    assert found == {"memory": Path("/sys/fs/cgroup/memory/app"), UNIFIED: Path("/sys/fs/cgroup/unified")}


def test_a_container_that_sees_its_own_group_as_the_mount_finds_it_there() -> None:
    assert own_groups(CONTAINER, "4:memory:/docker/1f\n") == {"memory": Path("/sys/fs/cgroup/memory")}
    assert own_groups(CONTAINER, "4:memory:/docker/1f/worker\n") == {"memory": Path("/sys/fs/cgroup/memory/worker")}


def test_a_mount_that_shows_other_groups_only_is_none_of_ours() -> None:
    assert own_groups(CONTAINER, "4:memory:/docker/2a\n") == {}
    assert own_groups(V2.replace(" / ", " /../.. "), "0::/\n") == {}
