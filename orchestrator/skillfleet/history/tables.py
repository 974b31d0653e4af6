"""The tables of the history (seed 002: Storage and Indexing Strategy). Whoever changes one adds a migration."""

from sqlalchemy import BigInteger, Column, Date, Float, Index, Integer, MetaData, Table, Text

from .columns import Json, UtcTime

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "pk": "pk_%(table_name)s"},
)

conversations = Table(
    "conversations",
    metadata,
    Column("agent_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("assigned_skill", Text),
    Column("skill_params", Json, nullable=False),
    Column("results", Json, nullable=False),
    Column("error", Text),
    Column("prompt", Text, nullable=False),
    Column("answer", Text),
    Column("parent_id", Text),
    Column("root_id", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost", Float),
    Column("created_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("completed_at", UtcTime),
    Column("metadata", Json, nullable=False),
    # The cursor in its event stream up to which these rows tell of it.
    Column("archived_to", Text, nullable=False),
    Index(None, "state"),
    Index(None, "created_at"),
    Index(None, "parent_id"),
    Index(None, "root_id"),
)

turns = Table(
    "turns",
    metadata,
    Column("agent_id", Text, primary_key=True),
    Column("turn", Integer, primary_key=True, autoincrement=False),
    Column("model", Text, nullable=False),
    Column("started_at", UtcTime, nullable=False),
    # What the model said; none: it has not yet.
    Column("message", Json),
)

executions = Table(
    "executions",
    metadata,
    Column("execution_id", Text, primary_key=True),
    Column("agent_id", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    # Of the call, in its conversation: TURN.INDEX.
    Column("call", Text, nullable=False),
    Column("skill_name", Text, nullable=False),
    Column("skill_version", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("parameters", Json, nullable=False),
    Column("result", Json),
    Column("error", Text),
    Column("status", Text, nullable=False),
    Column("started_at", UtcTime),
    Column("completed_at", UtcTime),
    Column("duration_ms", BigInteger),
    Column("retry_count", Integer, nullable=False),
    Column("worker", Text, nullable=False),
    Column("runtime", Text, nullable=False),
    Index(None, "agent_id"),
    Index(None, "skill_name"),
    Index(None, "status"),
    Index(None, "started_at"),
)

messages = Table(
    "messages",
    metadata,
    Column("message_id", Text, primary_key=True),
    Column("root_id", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("topic", Text),
    Column("sender_id", Text, nullable=False),
    Column("recipient_id", Text),
    Column("message_type", Text, nullable=False),
    Column("payload", Json, nullable=False),
    Column("timestamp", UtcTime, nullable=False),
    Column("ttl", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("correlation_id", Text),
    Index(None, "recipient_id"),
    Index(None, "topic"),
    Index(None, "correlation_id"),
    Index(None, "timestamp"),
    Index(None, "root_id"),
)

# How many executions that have ended took about so long: what counts and percentiles are made of. Every execution is
# counted once in each of its cells (spans.py), in the transaction that first writes its end. `bucket`: of durations
# (buckets.py).
execution_stats = Table(
    "execution_stats",
    metadata,
    # Empty: of all tenants together.
    Column("tenant", Text, primary_key=True),
    # How many days it sums up, from `day` on: UTC, on which executions ended.
    Column("span", Integer, primary_key=True, autoincrement=False),
    Column("day", Date, primary_key=True),
    Column("skill_name", Text, primary_key=True),
    Column("skill_version", Text, primary_key=True),
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column("count", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("timeout", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
