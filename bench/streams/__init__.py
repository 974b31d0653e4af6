"""From the provider's first byte to the follower's terminal."""
