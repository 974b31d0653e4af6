"""The history's answers, on both databases."""

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Select, text
from tests.orchestrator.made_history import NOON, execution, keep, keep_conversation, opened

from skillfleet.history.asked import Asked, Filters, StatsFilters
from skillfleet.history.database import History
from skillfleet.history.queries import conversations, conversations_query, executions, executions_query
from skillfleet.history.queries import execution as found_by_id
from skillfleet.history.retention import prune
from skillfleet.history.stats import skill_stats, stats_query

EACH: list[Any] = [
    {"agent": "agent-1"}, {"skill": "navigate"}, {"version": "1.0.0"}, {"status": "failed"}, {"tenant": "acme"},
    {"since": NOON}, {"until": NOON}, {"skill": "navigate", "status": "failed", "tenant": "acme", "since": NOON}, {},
]  # fmt: skip


def numbers(history: History, **given: Any) -> list[int]:
    """Of the calls that fit, in the order in which they are told."""
    with history.reading() as connection:
        return [int(one.call.partition(".")[0]) for one in executions(connection, Asked.of(cast(Filters, given)))]


def test_each_filter_and_all_together_bring_what_fits_newest_first(history_url: str, tmp_path: Path) -> None:
    rows = [
        execution(0),
        execution(1, agent_id="agent-2", skill_name="detect"),
        execution(2, skill_version="2.0.0", status="failed"),
        execution(3, tenant="other", status="timeout"),
        execution(4, status="pending"),
    ]
    with opened(history_url, tmp_path) as history:
        keep(history, rows)
        assert numbers(history) == [4, 3, 2, 1, 0]
        assert numbers(history, limit=2) == [4, 3]
        assert numbers(history, agent="agent-2") == numbers(history, skill="detect") == [1]
        assert numbers(history, version="2.0.0") == numbers(history, status="failed") == [2]
        assert numbers(history, tenant="other") == numbers(history, status="timeout") == [3]
        assert numbers(history, status="pending") == [4]
        from_one, before_three = NOON + timedelta(minutes=1), NOON + timedelta(minutes=3)
        assert numbers(history, since=from_one, until=before_three) == [2, 1]
        assert numbers(history, skill="navigate", tenant="acme", since=from_one, status="failed") == [2]
        assert numbers(history, skill="grasp") == []
        with history.reading() as connection:
            told = found_by_id(connection, rows[2]["execution_id"])
            assert found_by_id(connection, "nobody's") is None
    assert told is not None
    assert told.model_dump() | {"duration_ms": 10} == {name: rows[2][name] for name in told.model_dump()}


def test_conversations_are_told_newest_first(history_url: str, tmp_path: Path) -> None:
    with opened(history_url, tmp_path) as history:
        keep_conversation(history, "first", NOON)
        keep_conversation(history, "second", None, created_at=NOON + timedelta(hours=1), tenant="other")
        with history.reading() as connection:
            assert [one.agent_id for one in conversations(connection, Asked())] == ["second", "first"]
            (mine,) = conversations(connection, Asked.of({"tenant": "acme"}))
    assert (mine.agent_id, mine.completed_at, mine.answer) == ("first", NOON, "Gone.")


def test_statistics_count_by_skill_and_version_within_a_percent(history_url: str, tmp_path: Path) -> None:
    took = [round(1.01**number * 50) for number in range(400)]
    rows = [execution(number, duration_ms=ms) for number, ms in enumerate(took)]
    rows += [execution(1000 + number, skill_version="2.0.0", status="failed") for number in range(3)]
    rows += [
        execution(2000, skill_version="2.0.0", status="timeout", tenant="other"),
        execution(2001, status="pending"),
    ]
    with opened(history_url, tmp_path) as history:
        keep(history, rows[:200])
        keep(history, rows[200:])
        with history.reading() as connection:
            first, second = skill_stats(connection, Asked())
            (others,) = skill_stats(connection, Asked.of({"tenant": "other"}))
            assert skill_stats(connection, Asked.of({"skill": "grasp"})) == ()
    assert (first.skill_version, first.count, first.failure_rate) == ("1.0.0", 400, 0)
    assert first.p50_ms == pytest.approx(sorted(took)[199], rel=0.011)
    assert first.p95_ms == pytest.approx(sorted(took)[379], rel=0.011)
    assert (second.count, second.failed, second.timeout, second.failure_rate) == (4, 3, 1, 1)
    assert (others.count, others.timeout) == (1, 1)


def test_statistics_of_a_range_are_those_of_its_days(history_url: str, tmp_path: Path) -> None:
    rows = [execution(day, started_at=NOON + timedelta(days=day)) for day in range(150)]
    with opened(history_url, tmp_path) as history:
        keep(history, rows)

        def counted(**given: Any) -> int:
            with history.reading() as connection:
                return sum(one.count for one in skill_stats(connection, Asked.of(cast(StatsFilters, given))))

        assert counted() == 150
        assert counted(since=NOON + timedelta(days=20)) == 130
        assert counted(until=NOON + timedelta(days=20)) == 21
        assert counted(since=NOON + timedelta(days=3, hours=-12), until=NOON + timedelta(days=131)) == 129
        with history.writing() as connection:
            connection.execute(text("DELETE FROM conversations"))
        removed = prune(history, NOON + timedelta(days=77), statistics=True)
        assert (removed.executions, counted()) == (0, 150 - 77)
        assert counted(since=NOON + timedelta(days=70), until=NOON + timedelta(days=100)) == 24


def test_a_conversation_that_ended_long_ago_goes_with_all_that_it_did(history_url: str, tmp_path: Path) -> None:
    with opened(history_url, tmp_path) as history:
        for number in range(450):
            keep_conversation(history, f"old-{number}", NOON)
        keep_conversation(history, "young", NOON + timedelta(days=2))
        keep_conversation(history, "open", None)
        keep(history, [execution(number, agent_id=f"old-{number}") for number in range(450)])
        keep(history, [execution(500, agent_id="young"), execution(501, agent_id="open")])
        removed = prune(history, NOON + timedelta(days=1))
        assert (removed.conversations, removed.executions, removed.messages) == (450, 450, 450)
        assert not prune(history, NOON + timedelta(days=1))
        assert numbers(history) == [501, 500]
        with history.reading() as connection:
            assert connection.scalar(text("SELECT count(*) FROM turns")) == 2
            assert sum(one.count for one in skill_stats(connection, Asked())) == 452


@pytest.mark.parametrize("filters", EACH, ids=str)
def test_no_filter_reads_a_whole_table(history_url: str, tmp_path: Path, filters: Any) -> None:
    of_conversations: Any = {name: filters[name] for name in ("agent", "tenant", "since", "until") if name in filters}
    of_stats: Any = {name: value for name, value in filters.items() if name not in ("agent", "status")}
    with opened(history_url, tmp_path) as history:
        assert_sought(history, executions_query(Asked.of(filters)), sought=bool(filters))
        assert_sought(history, conversations_query(Asked.of(of_conversations)), sought=bool(of_conversations))
        assert_sought(history, stats_query(Asked.of(of_stats)))


def assert_sought(history: History, query: Select[Any], *, sought: bool = True) -> None:
    """By an index; not `sought`: at least read in its order."""
    with history.reading() as connection:
        words = query.compile(connection.engine)
        if connection.dialect.name == "sqlite":
            given = tuple(str(words.params[name]) for name in words.positiontup or ())
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {words}", given)
        else:
            # A table this small it would read whole, as that is faster.
            connection.execute(text("SET enable_seqscan = off"))
            rows = connection.exec_driver_sql(f"EXPLAIN {words}", dict(words.params))
        told = "\n".join(str(row[-1]) for row in rows)
    assert "Seq Scan" not in told, told
    assert "INDEX" in told or "Index" in told, told
    assert not sought or "SEARCH" in told or "Index Cond" in told, told


def test_statistics_of_which_nothing_is_so_old_stay_as_they_are(history_url: str, tmp_path: Path) -> None:
    with opened(history_url, tmp_path) as history:
        assert prune(history, NOON, statistics=True).statistics == 0
        keep(history, [execution(1)])
        assert prune(history, NOON - timedelta(days=1000), statistics=True).statistics == 0
        with history.reading() as connection:
            assert [one.count for one in skill_stats(connection, Asked())] == [1]
