"""Conversations: the pure engine, the ledger that keeps them, the driver that moves them."""
