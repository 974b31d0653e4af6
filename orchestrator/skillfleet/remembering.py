"""What the history tells: a part of the Fleet."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Unpack

from .errors import BadRequestError
from .history.answers import ArchivedConversation, Pruned, SkillStats
from .history.asked import Asked, Filters, StatsFilters, duration_of
from .history.records import SkillExecution
from .history.unarchived import Unarchivable, Unarchived
from .opened import Opened

if TYPE_CHECKING:
    from .history.reader import Reader


class Remembering(Opened):
    """These answer from SQL, when redis is away and the fleet is not open too. Where no archiver runs, what redis
    holds and the history does not is archived first.

    Raises (every verb): SettingsError, and HistoryError when the database cannot be reached.
    """

    _notice: Callable[[str], None]

    def history(self, **filters: Unpack[Filters]) -> tuple[SkillExecution, ...]:
        """The newest executions that fit, 20 unless `limit` says otherwise.

        Raises:
            BadRequestError: a filter that nothing can fit.
        """
        return self._reader().executions(Asked.of(filters))

    def execution(self, execution_id: str) -> SkillExecution:
        """
        Raises:
            BadRequestError: there is none of this id.
        """
        if (found := self._reader().execution(execution_id)) is None:
            raise BadRequestError(f"the history has no execution {execution_id!r}; see `skillfleet history`")
        return found

    def history_conversations(self, **filters: Unpack[Filters]) -> tuple[ArchivedConversation, ...]:
        """The newest conversations that fit; `since` and `until`: of when they were submitted.

        Raises:
            BadRequestError: a filter that nothing can fit, or one of executions.
        """
        for name in ("skill", "version", "status"):
            if filters.get(name) is not None:
                raise BadRequestError(f"{name}: conversations are not filtered by it, but executions are")
        return self._reader().conversations(Asked.of(filters))

    def history_stats(self, **filters: Unpack[StatsFilters]) -> tuple[SkillStats, ...]:
        """Of each version of each skill; those with the most executions first.

        Raises:
            BadRequestError: a filter that nothing can fit.
        """
        return self._reader().stats(Asked.of(filters))

    def prune_history(self, older_than: timedelta | str, *, statistics: bool = False) -> Pruned:
        """Remove conversations that ended longer ago, with all that they did. `statistics`: what was counted on the
        days before is forgotten too.

        Raises:
            BadRequestError: no duration.
        """
        age = duration_of("older_than", older_than) if isinstance(older_than, str) else older_than
        try:
            before = datetime.now(UTC) - age
        except OverflowError:
            return Pruned()
        return self._reader().prune(before, statistics=statistics)

    def _reader(self) -> "Reader":
        # SQLAlchemy takes as long to import as all the rest, and the other verbs need none of it.
        from .history.reader import Reader  # noqa: PLC0415

        if not self._access.is_open:
            return Reader(self.settings, None, self._notice)
        archives = not self._access.running("archiver")
        return Reader(self.settings, self._access.ledger.client, self._notice, archives)

    def unarchivable(self) -> tuple[Unarchivable, ...]:
        """What could not be archived when it was tried last, the one of the longest first."""
        return Unarchived(self._access.ledger.client, self.settings.fleet).failing()
