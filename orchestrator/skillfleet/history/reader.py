"""The history's answers, up to now."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import redis
from sqlalchemy import Connection

from ..errors import HistoryError
from ..settings import OrchestratorSettings
from .answers import ArchivedConversation, Pruned, SkillStats
from .archiver import Archiver
from .asked import Asked
from .database import History, open_history
from .queries import conversations, execution, executions
from .records import SkillExecution
from .retention import prune
from .stats import skill_stats
from .unarchived import Unarchived, told_of

BEHIND_S = 5.0
"""For so long conversations may be due at the archiver; beyond that, who asks is told."""

_MISSING = "what redis holds and the history does not is missing here"


@dataclass(frozen=True, slots=True)
class Reader:
    """`client`: of the redis that may know more, None: it cannot be asked. `archives`: its news are archived first,
    else somebody sees to them. `notice`: is told what is missing here."""

    settings: OrchestratorSettings
    client: redis.Redis | None
    notice: Callable[[str], None]
    archives: bool = True

    def executions(self, asked: Asked) -> tuple[SkillExecution, ...]:
        with self._reading() as connection:
            return executions(connection, asked)

    def execution(self, execution_id: str) -> SkillExecution | None:
        with self._reading() as connection:
            return execution(connection, execution_id)

    def conversations(self, asked: Asked) -> tuple[ArchivedConversation, ...]:
        with self._reading() as connection:
            return conversations(connection, asked)

    def stats(self, asked: Asked) -> tuple[SkillStats, ...]:
        with self._reading() as connection:
            return skill_stats(connection, asked)

    def prune(self, before: datetime, *, statistics: bool) -> Pruned:
        with self._open() as history:
            return prune(history, before, statistics=statistics)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._open() as history:
            self._catch_up(history)
            with history.reading() as connection:
                yield connection

    @contextmanager
    def _open(self) -> Iterator[History]:
        history = open_history(self.settings)
        try:
            yield history
        finally:
            history.close()

    def _catch_up(self, history: History) -> None:
        if self.client is None:
            return
        unarchived = Unarchived(self.client, self.settings.fleet)
        try:
            if self.archives:
                Archiver(history, unarchived, quiet=True).catch_up()
            elif behind := unarchived.behind(BEHIND_S):
                many = "a conversation" if behind == 1 else f"{behind} conversations"
                self.notice(f"the archiver is behind: the newest of {many} is missing here; ask again in a while")
            if failing := unarchived.failing():
                self.notice(told_of(failing))
        except redis.RedisError as error:
            self.notice(f"redis is away ({error}): {_MISSING}")
        except HistoryError as error:  # it takes nothing, but may have something to tell
            self.notice(f"{error}: {_MISSING}")
