"""What both sides share, and the only part of the workers that the orchestrator may import."""
