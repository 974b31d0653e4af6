"""Limits for one sandbox as a whole, by control groups of version 1, 2 or both."""

import re
import shutil
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .cgroup import Cgroup
from .cgroup_places import NoPlaceError, parents, write
from .owner import Owner, owner_of, this_process

PREFIX = "skillfleet"
OWNED = re.compile(rf"{PREFIX}-(\d+-\d+-\d+)-.+")


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Makes groups in `folders` (by controller). `owner`: this process, told apart from all others of its host."""

    folders: Mapping[str, Path]
    owner: Owner

    @property
    def own_prefixes(self) -> list[str]:
        """How the paths of all groups of this process begin."""
        name = f"{PREFIX}-{'-'.join(map(str, self.owner))}-"
        return [f"{folder}/{name}" for folder in dict.fromkeys(self.folders.values())]

    @property
    def limits_cpu(self) -> bool:
        return "cpu" in self.folders

    def create(self, name: str, *, memory_mb: int, pids: int, cpus: float | None = None) -> Cgroup:
        """An empty group with its limits; `cpus` holds only where `limits_cpu`.

        Raises:
            OSError: the host no longer allows it.
        """
        owned = f"{PREFIX}-{self.owner}-{name}"
        group = self._group(owned, without=() if cpus else ("cpu",))
        try:
            for folder in dict.fromkeys(group.folders.values()):
                folder.mkdir()
            group.limit_memory(memory_mb * 1024 * 1024)
            write(group.folders["pids"] / "pids.max", str(pids))
            if cpus:
                group.limit_cpu(cpus)
        except FileExistsError:
            raise
        except OSError:
            group.remove()
            raise
        return group

    def sweep(self) -> list[str]:
        """Remove the groups of workers that are dead, whatever still runs in them; the names of those removed.

        One that can't be removed now is left to the next sweep.
        """
        seen = {entry.name for folder in self.folders.values() for entry in folder.glob(f"{PREFIX}-*")}
        removed = []
        for name in filter(self._is_orphan, sorted(seen)):
            with suppress(OSError):
                self._group(name).remove()
                removed.append(name)
        return removed

    def _is_orphan(self, name: str) -> bool:
        owned = OWNED.fullmatch(name)
        owner = owner_of(owned[1]) if owned else None
        return owner is not None and owner.dead

    def _group(self, name: str, without: tuple[str, ...] = ()) -> Cgroup:
        return Cgroup({word: folder / name for word, folder in self.folders.items() if word not in without})


def find_cgroups() -> Cgroups | str:
    """Where groups can be made, tried with a process; else why not, in one line."""
    try:
        found = Cgroups(parents(), this_process())
        _try(found)
    except NoPlaceError as why:
        return str(why)
    except OSError as wrong:
        return f"{wrong.filename}: {wrong.strerror}" if wrong.filename else str(wrong)
    return found


def _try(cgroups: Cgroups) -> None:
    name = f"try{threading.get_native_id()}"
    group = cgroups.create(name, memory_mb=64, pids=4, cpus=1 if cgroups.limits_cpu else None)
    try:
        with subprocess.Popen([shutil.which("cat") or "/bin/cat"], stdin=subprocess.PIPE) as guest:
            try:
                for file in group.attach_files:
                    write(Path(file), str(guest.pid))
                group.kill()
            finally:
                guest.kill()
    finally:
        group.remove()
