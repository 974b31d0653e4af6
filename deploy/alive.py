"""Exit 0 if a process of this container said on its fleet, within the last seconds, that it lives."""

import socket
import sys

from skillfleet_workers.wire.connection import FleetSettings, RedisUrls, load_settings
from skillfleet_workers.wire.presence import live_processes


def main() -> int:
    settings = load_settings(FleetSettings)
    living = live_processes(RedisUrls.of(settings).client(), settings.fleet)
    # A process is named after its host, which here is the container (worker_name).
    return 0 if any(process.name.startswith(f"{socket.gethostname()}-") for process in living) else 1


if __name__ == "__main__":
    sys.exit(main())
