"""A fair queue in memory: the twin of wire/fair.lua, where its rules are told (pure)."""

import math
from collections.abc import Callable

FIRST = ""
"""The tenant that comes first, and then after every one of the others."""

Rank = tuple[float, ...]


class FairQueue:
    def __init__(self) -> None:
        self.tenants: dict[str, float] = {}
        """Those that have members, or had some when last they were looked at, by turn."""
        self.members: dict[str, dict[str, Rank]] = {}

    def __contains__(self, member: str) -> bool:
        return any(member in members for members in self.members.values())

    def put(self, tenant: str, member: str, rank: Rank) -> None:
        """Whoever waits already keeps its place."""
        self.members.setdefault(tenant, {}).setdefault(member, rank)
        self.tenants.setdefault(tenant, -1 if tenant == FIRST else self._last() + 1)

    def withdraw(self, tenant: str, member: str) -> bool:
        return self.members.get(tenant, {}).pop(member, None) is not None

    def take(self, may: Callable[[str], bool] = lambda tenant: True) -> str | None:
        """The next member. `may`: which tenants may be served; who may not keeps its turn."""
        for _, tenant in sorted((turn, tenant) for tenant, turn in self.tenants.items()):
            if tenant != FIRST and not may(tenant):
                continue
            if not self.members[tenant]:
                del self.members[tenant], self.tenants[tenant]
                continue
            _, member = min((rank, member) for member, rank in self.members[tenant].items())
            del self.members[tenant][member]
            self._go_behind(tenant)
            return member
        return None

    def _go_behind(self, tenant: str) -> None:
        if tenant != FIRST:
            self.tenants[tenant] = self._last() + 1
        elif later := [turn for turn in self.tenants.values() if turn > self.tenants[FIRST]]:
            self.tenants[FIRST] = min(later) + 0.5

    def _last(self) -> int:
        return math.floor(max(self.tenants.values(), default=-1))
