"""11: whoever waits has its turn when everybody else has had one."""

from collections.abc import Callable

from skillfleet.conversations.fair import FIRST, FairQueue, Rank

from .violations import claim_that


class WatchedQueue(FairQueue):
    """`may`: which tenants may be served now. `what` it holds, for the one who reads of a violation."""

    def __init__(self, what: str, may: Callable[[str], bool] = lambda tenant: True) -> None:
        super().__init__()
        self._what, self.may = what, may
        self._put: dict[str, tuple[str, Rank]] = {}
        self._served_since: dict[str, set[str]] = {}
        """For each tenant that waits, who has been served since it was, or since it came."""

    def put(self, tenant: str, member: str, rank: Rank) -> None:
        super().put(tenant, member, rank)
        self._put[member] = (tenant, self.members[tenant][member])
        self._see()

    def withdraw(self, tenant: str, member: str) -> bool:
        found = super().withdraw(tenant, member)
        if member not in self:
            self._see()
        return found

    def served(self, member: str) -> None:
        """However it was chosen. What only has to be ended is nobody's turn."""
        tenant, rank = self._put.pop(member)
        if tenant == FIRST:
            return
        for other, passed in self._served_since.items():
            if other == tenant:
                continue
            if self.may(other):
                claim_that(tenant not in passed, f"11: {self._what} of others do not come twice", (other, tenant))
                passed.add(tenant)
            else:
                passed.clear()
        first = min([rank, *self.members.get(tenant, {}).values()])
        claim_that(rank == first, f"11: a tenant's {self._what} come by rank", (member, rank, first))
        self._served_since.pop(tenant, None)
        self._see()

    def _see(self) -> None:
        waiting = {tenant for tenant, members in self.members.items() if members and tenant != FIRST}
        self._served_since = {tenant: self._served_since.get(tenant, set()) for tenant in sorted(waiting)}


class WatchedCalls(WatchedQueue):
    def take(self, may: Callable[[str], bool] = lambda tenant: True) -> str | None:
        member = super().take(may)
        if member is not None:
            self.served(member)
        return member
