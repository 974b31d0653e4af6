"""Run by Alembic, on the connection that `migrating.py` gives it."""

from alembic import context

from skillfleet.history.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
