"""What subagents cost, and the messages between them."""
