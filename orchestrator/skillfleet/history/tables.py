"""The tables of the history (seed 002: Storage and Indexing Strategy). Whoever changes one adds a migration."""

from sqlalchemy import JSON, BigInteger, Column, Date, Float, Index, Integer, MetaData, Table

from .columns import Json, UtcTime, Words

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "pk": "pk_%(table_name)s"},
)

conversations = Table(
    "conversations",
    metadata,
    Column("agent_id", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("tenant", Words, nullable=False),
    Column("model", Words, nullable=False),
    Column("assigned_skill", Words),
    Column("skill_params", Json, nullable=False),
    Column("results", Json, nullable=False),
    Column("error", Words),
    Column("prompt", Words, nullable=False),
    Column("answer", Words),
    Column("parent_id", Words),
    Column("root_id", Words, nullable=False),
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
    Column("archived_to", Words, nullable=False),
    Index(None, "state"),
    Index(None, "created_at"),
    Index(None, "tenant", "created_at"),
    Index(None, "completed_at"),
    Index(None, "parent_id"),
    Index(None, "root_id"),
)

turns = Table(
    "turns",
    metadata,
    Column("agent_id", Words, primary_key=True),
    Column("turn", Integer, primary_key=True, autoincrement=False),
    Column("model", Words, nullable=False),
    Column("started_at", UtcTime, nullable=False),
    # What the model said; none: it has not yet.
    Column("message", Json),
)

executions = Table(
    "executions",
    metadata,
    Column("execution_id", Words, primary_key=True),
    Column("agent_id", Words, nullable=False),
    Column("tenant", Words, nullable=False),
    # Of the call, in its conversation: TURN.INDEX.
    Column("call", Words, nullable=False),
    Column("skill_name", Words, nullable=False),
    Column("skill_version", Words, nullable=False),
    Column("tool", Words, nullable=False),
    Column("parameters", Json, nullable=False),
    Column("result", Json),
    Column("error", Words),
    Column("status", Words, nullable=False),
    Column("started_at", UtcTime),
    Column("completed_at", UtcTime),
    Column("duration_ms", BigInteger),
    Column("retry_count", Integer, nullable=False),
    Column("worker", Words, nullable=False),
    Column("runtime", Words, nullable=False),
    # Each begins with a column that is asked for, goes on in the order of the answers, and has what else may be asked
    # for: what does not fit is passed over without a look at its row.
    Index(None, "agent_id", "started_at"),
    Index("ix_executions_skill", "skill_name", "started_at", "status", "tenant", "skill_version"),
    Index("ix_executions_tenant", "tenant", "started_at", "status", "skill_name", "skill_version"),
    Index("ix_executions_version", "skill_version", "started_at", "status", "tenant", "skill_name"),
    Index("ix_executions_status", "status", "started_at", "tenant", "skill_name", "skill_version"),
    Index("ix_executions_time", "started_at", "status", "tenant", "skill_name", "skill_version"),
)

messages = Table(
    "messages",
    metadata,
    Column("message_id", Words, primary_key=True),
    Column("root_id", Words, nullable=False),
    Column("tenant", Words, nullable=False),
    Column("topic", Words),
    Column("sender_id", Words, nullable=False),
    Column("recipient_id", Words),
    Column("message_type", Words, nullable=False),
    Column("payload", Json, nullable=False),
    Column("timestamp", UtcTime, nullable=False),
    Column("ttl", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("correlation_id", Words),
    Index(None, "recipient_id"),
    Index(None, "topic"),
    Index(None, "correlation_id"),
    Index(None, "timestamp"),
    Index(None, "root_id"),
)

# What counts and percentiles are made of: executions that have ended, each counted once in each of its cells
# (spans.py) in the transaction that first writes its end.
execution_stats = Table(
    "execution_stats",
    metadata,
    # Empty: of all tenants together.
    Column("tenant", Words, primary_key=True),
    # How many days it sums up, from `day` on: UTC, on which executions ended.
    Column("span", Integer, primary_key=True, autoincrement=False),
    Column("day", Date, primary_key=True),
    Column("skill_name", Words, primary_key=True),
    Column("skill_version", Words, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("timeout", BigInteger, nullable=False),
    # How many took how long, by bucket (buckets.py). Never looked into by the database.
    Column("durations", JSON, nullable=False),
)
