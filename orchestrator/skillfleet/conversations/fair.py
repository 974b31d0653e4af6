"""A fair queue in memory: the twin of wire/fair.lua, where its rules are told (pure)."""

from collections.abc import Callable

FIRST = ""
"""The tenant whose turn it always is."""

Rank = tuple[float, ...]


class FairQueue:
    def __init__(self) -> None:
        self.tenants: dict[str, int] = {}
        """Those that have members, by turn."""
        self.members: dict[str, dict[str, Rank]] = {}

    def __contains__(self, member: str) -> bool:
        return any(member in members for members in self.members.values())

    def put(self, tenant: str, member: str, rank: Rank) -> None:
        """Whoever waits already keeps its place."""
        self.members.setdefault(tenant, {}).setdefault(member, rank)
        self.tenants.setdefault(tenant, -1 if tenant == FIRST else self._last() + 1)

    def withdraw(self, tenant: str, member: str) -> bool:
        if member not in self.members.get(tenant, ()):
            return False
        del self.members[tenant][member]
        self._leave_if_empty(tenant)
        return True

    def take(self, may: Callable[[str], bool] = lambda tenant: True) -> str | None:
        """The next member. `may`: which tenants may be served; who may not keeps its turn."""
        turns = sorted((turn, tenant) for tenant, turn in self.tenants.items())
        tenant = next((tenant for _, tenant in turns if tenant == FIRST or may(tenant)), None)
        if tenant is None:
            return None
        _, member = min((rank, member) for member, rank in self.members[tenant].items())
        del self.members[tenant][member]
        if tenant != FIRST:
            self.tenants[tenant] = self._last() + 1
        self._leave_if_empty(tenant)
        return member

    def _last(self) -> int:
        return max(self.tenants.values(), default=-1)

    def _leave_if_empty(self, tenant: str) -> None:
        if not self.members[tenant]:
            del self.members[tenant], self.tenants[tenant]
