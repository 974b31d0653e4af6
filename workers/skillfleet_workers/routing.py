"""Which routes a worker serves, and which calls that come to it are for others."""

import logging
from collections.abc import Callable, Iterable

from .wire.contract import CallMessage, skill_of
from .wire.presence import LiveProcess
from .wire.published import MOST_ROUTES, Snapshot, merged, routes_of
from .wire.snapshots import Snapshots

log = logging.getLogger(__name__)


class Routing:
    """What this worker can run (`own`) beside what all of its fleet can; orchestrators derive the same routes from
    the same snapshots. `others`: the workers that take calls from the same queue. What it knows is as old as its last
    `look`. Raises redis.RedisError."""

    def __init__(
        self, snapshots: Snapshots, own: Callable[[], Snapshot], others: Callable[[], Iterable[LiveProcess]]
    ) -> None:
        self._snapshots, self._describe, self._others = snapshots, own, others
        self._ids: tuple[str, ...] = ()
        self.own = self._fleet = Snapshot()
        self.routes: tuple[str, ...] = ()
        self.follow: Callable[[], None] = lambda: None
        """Called when the routes may have changed."""

    def look(self) -> None:
        own = self._describe()
        ids = (self._snapshots.write(own), *sorted(one.snapshot for one in self._others() if one.snapshot))
        if ids != self._ids:
            others = [found for name in ids[1:] if (found := self._snapshots.read(name))]
            fleet = merged([own, *others])
            routes = routes_of(own, fleet)
            if routes != self.routes:
                log.info("serves the routes: %s", ", ".join(routes) or "none")
                if len(routes) == MOST_ROUTES:
                    log.warning("a worker serves %d routes at most: calls of the others wait", MOST_ROUTES)
            self.own, self._fleet, self.routes = own, fleet, routes
            self._ids = ids if len(others) == len(ids) - 1 else ()
        self.follow()

    def elsewhere(self, message: CallMessage) -> str | None:
        """The route of the workers that can run the call, where this one cannot; None: it is for this one, be it to
        say why nobody can run it."""
        name = skill_of(message.request)
        if name is None:
            return None
        mine = self.own.find(name, message.digest)
        theirs = self._fleet.find(name, message.digest)
        if (mine and mine.eligible) or theirs is None or not theirs.eligible:
            return None
        return theirs.route if theirs.route and theirs.route not in self.routes else None
