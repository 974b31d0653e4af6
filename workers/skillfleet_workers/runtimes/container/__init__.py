"""Runs in containers, held by a Docker engine."""
