"""Many conversations, long ones, and long queues."""
