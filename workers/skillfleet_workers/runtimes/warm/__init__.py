"""Runs that are forks of an interpreter kept warm in a sandbox."""
