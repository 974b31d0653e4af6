"""Skill folders: found, read, and never left by a path."""
