"""Conversations, their turns, executions and messages, and what statistics are made of."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

JSON = sa.JSON().with_variant(JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)

STATS_KEY = ("tenant", "span", "day", "skill_name", "skill_version")
INDEXES = {
    "conversations": ("state", "created_at", "parent_id", "root_id"),
    "executions": ("agent_id", "skill_name", "status", "started_at"),
    "messages": ("recipient_id", "topic", "correlation_id", "timestamp", "root_id"),
}


def upgrade() -> None:
    _conversations()
    _executions()
    _messages()
    for table, columns in INDEXES.items():
        for column in columns:
            op.create_index(f"ix_{table}_{column}", table, [column])


def _conversations() -> None:
    op.create_table(
        "conversations",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("assigned_skill", sa.Text()),
        sa.Column("skill_params", JSON, nullable=False),
        sa.Column("results", JSON, nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text()),
        sa.Column("parent_id", sa.Text()),
        sa.Column("root_id", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Float()),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("completed_at", TIME),
        sa.Column("metadata", JSON, nullable=False),
        sa.Column("archived_to", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("agent_id", name="pk_conversations"),
    )
    op.create_table(
        "turns",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("turn", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("message", JSON),
        sa.PrimaryKeyConstraint("agent_id", "turn", name="pk_turns"),
    )


def _executions() -> None:
    op.create_table(
        "executions",
        sa.Column("execution_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("skill_version", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("parameters", JSON, nullable=False),
        sa.Column("result", JSON),
        sa.Column("error", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("completed_at", TIME),
        sa.Column("duration_ms", sa.BigInteger()),
        sa.Column("retry_count", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("runtime", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("execution_id", name="pk_executions"),
    )
    op.create_table(
        "execution_stats",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("span", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("skill_name", sa.Text(), nullable=False),
        sa.Column("skill_version", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("timeout", sa.BigInteger(), nullable=False),
        sa.Column("durations", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint(*STATS_KEY, name="pk_execution_stats"),
    )


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("root_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text()),
        sa.Column("sender_id", sa.Text(), nullable=False),
        sa.Column("recipient_id", sa.Text()),
        sa.Column("message_type", sa.Text(), nullable=False),
        sa.Column("payload", JSON, nullable=False),
        sa.Column("timestamp", TIME, nullable=False),
        sa.Column("ttl", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("correlation_id", sa.Text()),
        sa.PrimaryKeyConstraint("message_id", name="pk_messages"),
    )
