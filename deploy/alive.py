"""Exit 0 if a process of this container said on its fleet, within the last seconds, that it lives."""

import socket
import sys
from pathlib import Path
from typing import get_args

from skillfleet_workers.wire.connection import FleetSettings, RedisUrls, load_settings
from skillfleet_workers.wire.keys import FleetKeys
from skillfleet_workers.wire.presence import Role


def main() -> int:
    settings = load_settings(FleetSettings)
    # A name is host and process id (worker_name): asked for by name, as a search reads every key there is.
    names = [f"{socket.gethostname()}-{entry.name}" for entry in Path("/proc").glob("[0-9]*")]
    keys = [FleetKeys(settings.fleet).live(role, name) for role in get_args(Role) for name in names]
    return 0 if RedisUrls.of(settings).client().exists(*keys) else 1


if __name__ == "__main__":
    sys.exit(main())
