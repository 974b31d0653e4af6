"""A durable-execution library, for orientation."""
