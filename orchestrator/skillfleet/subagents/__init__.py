"""Conversations that work for other conversations."""
