"""Tools as the model sees them, and how a model's call becomes a task."""
