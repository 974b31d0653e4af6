"""Nothing to install: a private redis, and a fleet on this machine."""
