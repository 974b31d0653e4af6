"""The archiver: what happens to conversations is written into the history, off their way."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event

import redis
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from skillfleet_workers.wire.shown import short

from ..conversations.stored import UNREADABLE
from ..errors import HistoryError
from ..settings import OrchestratorSettings
from .database import History, connected, open_history
from .retention import prune
from .unarchived import Unarchived
from .writing import archive, cursors

BATCH = 100
LOOK_EVERY_S = 0.5
"""So often what has just changed is looked at again; what has rested for longer, after a tenth of that time, and at
the latest after LATEST_LOOK_S."""

LATEST_LOOK_S = 20.0
LATEST_TRY_S = 600.0
"""What cannot be archived is tried again after as long as it could not be, and at the latest after this."""

LONGEST_PAUSE_S = 5.0
MOST_WHY_CHARS = 300
KEEP_EVERY_S = 60.0
PRUNE_EVERY_S = 3600.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Archiver:
    """`days`: how long the history keeps what has ended, 0: for ever. `quiet`: who asks it tells what it cannot
    archive."""

    history: History
    unarchived: Unarchived
    days: int = 0
    quiet: bool = False
    _away: dict[str, float] = field(default_factory=dict)

    def run(self, stop: Event, opens: Callable[[], object] = lambda: None) -> None:
        """Until it is told to stop. `opens`: makes the history ready, when it can be reached for the first time."""
        pause, ready, prune_at, keep_at = 0.0, False, 0.0, 0.0
        while not stop.wait(pause):
            try:
                if not ready:
                    opens()
                    ready = True
                looked = self.look()
                if self.days and time.monotonic() >= prune_at:
                    self._prune()
                    prune_at = time.monotonic() + PRUNE_EVERY_S
            except (HistoryError, redis.RedisError) as error:
                pause = min(LONGEST_PAUSE_S, 2 * pause or LOOK_EVERY_S)
                self._is_away(error)
                ready = ready and not isinstance(error, HistoryError)  # another may be in its place when it is back
                if isinstance(error, HistoryError) and time.monotonic() >= keep_at:
                    keep_at = time.monotonic() + KEEP_EVERY_S
                    self._keep_all()
                continue
            self._is_back()
            pause = 0.0 if looked == BATCH else LOOK_EVERY_S

    def look(self) -> int:
        """At some that are due; how many."""
        names = self.unarchived.due(BATCH)
        if names:
            self._take(names)
        return len(names)

    def catch_up(self) -> int:
        """With all of them, due or not; how many conversations had something new."""
        return sum(self._take(names) for names in self.unarchived.pages(BATCH))

    def _take(self, names: list[str]) -> int:
        """How many of them had something new."""
        newest = self.unarchived.newest(names)
        with self.history.reading() as connection:
            known = cursors(connection, names)
        done = [name for name in names if name not in newest]
        later: dict[str, float] = {}
        fresh = 0
        for name, last in newest.items():
            cursor, ended = known.get(name, ("", False))
            if cursor != last:
                fresh += 1
                ended, delay_s = self._archive(name)
            else:
                delay_s = _rest_s(last)
            if ended:
                done.append(name)
            else:
                later[name] = delay_s
        if done:
            self.unarchived.done(done)
        if later:
            self.unarchived.look_again(later)
        return fresh

    def _archive(self, name: str) -> tuple[bool, float]:
        """Whether all of it is archived, and else when it is to be looked at again."""
        try:
            while (news := archive(self.history, name, self.unarchived.news)) and not news.all_read:
                pass
        except (*UNREADABLE, SQLAlchemyError, RecursionError, OverflowError, HistoryError) as wrong:
            if isinstance(wrong, HistoryError):
                self.history.ping()
            return False, self._failed(name, why(wrong))  # others are archived meanwhile
        self.unarchived.recovered([name])
        return news is None or any(entry.type == "ended" for entry in news.entries), LOOK_EVERY_S

    def _failed(self, name: str, reason: str) -> float:
        """When it is to be tried again."""
        for_s = self.unarchived.failed(name, reason)
        if not for_s and not self.quiet:
            log.error("conversation %s cannot be archived (yet): %s", name, reason)
        return min(LATEST_TRY_S, max(LOOK_EVERY_S, for_s))

    def _prune(self) -> None:
        removed = prune(self.history, datetime.now(UTC) - timedelta(days=self.days))
        if removed:
            log.info("removed %s that ended over %d days ago", removed, self.days)

    def _keep_all(self) -> None:
        """What is not archived must not expire while it cannot be."""
        try:
            for names in self.unarchived.pages(BATCH):
                self.unarchived.keep(names)
        except redis.RedisError as error:
            self._is_away(error)

    def _is_away(self, error: HistoryError | redis.RedisError) -> None:
        what = "the history" if isinstance(error, HistoryError) else "redis"
        if what not in self._away:
            log.warning("%s is away, waiting for it: %s", what, error)
            self._away[what] = time.monotonic()

    def _is_back(self) -> None:
        for what, since in self._away.items():
            log.warning("%s is back after %.1f s", what, time.monotonic() - since)
        self._away.clear()


def _rest_s(cursor: str) -> float:
    """How long what has not changed since then is left alone. A cursor is a time by redis' clock, which may be a
    little off ours."""
    age_s = time.time() - int(cursor.partition("-")[0]) / 1000
    return min(LATEST_LOOK_S, max(LOOK_EVERY_S, age_s / 10))


def why(wrong: Exception) -> str:
    """In one line, without what was to be written."""
    told = wrong.orig if isinstance(wrong, DBAPIError) and wrong.orig else wrong
    lines = str(told).strip().splitlines()[: 2 if isinstance(told, ValidationError) else 1]
    return short(f"{type(told).__name__}: {' '.join(lines)}", MOST_WHY_CHARS)


def run_archiver(settings: OrchestratorSettings, client: redis.Redis, stop: Event) -> None:
    """Waits for a database that is away.

    Raises:
        SettingsError: as `open_history`.
    """
    history = connected(settings)
    try:
        archiver = Archiver(history, Unarchived(client, settings.fleet), settings.history_days)
        archiver.run(stop, lambda: open_history(settings).close())
    finally:
        history.close()


def catch_up(settings: OrchestratorSettings, client: redis.Redis) -> int:
    """Archive what has happened by now; how many conversations had something new. For who has no archiver.

    Raises:
        SettingsError, HistoryError: as `open_history`.
        redis.RedisError: redis cannot be reached.
    """
    history = open_history(settings)
    try:
        return Archiver(history, Unarchived(client, settings.fleet)).catch_up()
    finally:
        history.close()
