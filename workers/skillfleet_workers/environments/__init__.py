"""Which interpreter a skill's scripts run with: an existing venv, or one built with uv."""
