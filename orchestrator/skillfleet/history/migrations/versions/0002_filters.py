"""No filter of the history reads a whole table; what ended long ago is found to be removed."""

from alembic import op

revision = "0002"
down_revision = "0001"

REPLACED = ("agent_id", "skill_name", "status", "started_at")
EXECUTIONS = {
    "ix_executions_agent_id_started_at": ("agent_id", "started_at"),
    "ix_executions_skill": ("skill_name", "started_at", "status", "tenant", "skill_version"),
    "ix_executions_tenant": ("tenant", "started_at", "status", "skill_name", "skill_version"),
    "ix_executions_version": ("skill_version", "started_at", "status", "tenant", "skill_name"),
    "ix_executions_status": ("status", "started_at", "tenant", "skill_name", "skill_version"),
    "ix_executions_time": ("started_at", "status", "tenant", "skill_name", "skill_version"),
}


def upgrade() -> None:
    for column in REPLACED:
        op.drop_index(f"ix_executions_{column}", "executions")
    for name, columns in EXECUTIONS.items():
        op.create_index(name, "executions", columns)
    op.create_index("ix_conversations_tenant_created_at", "conversations", ["tenant", "created_at"])
    op.create_index("ix_conversations_completed_at", "conversations", ["completed_at"])
