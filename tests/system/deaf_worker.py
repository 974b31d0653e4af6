"""A worker whose consumer hangs once it is there: it is alive, hears redis, and takes no call.

`python -m tests.system.deaf_worker STALLED_AFTER_S`; with `hears` as well, its consumer is sound.
"""

import sys
import threading

from skillfleet_workers.app import serve, wired
from skillfleet_workers.consumer import Consumer
from skillfleet_workers.settings import WorkerSettings
from skillfleet_workers.wire.connection import load_settings


class Deaf(Consumer):
    def on_ready(self) -> None:
        super().on_ready()
        threading.Event().wait()


def main(stalled_after_s: float, *, hears: bool) -> int:
    settings = load_settings(WorkerSettings)
    with wired(settings) as parts:
        if not hears:
            parts.app.conf.worker_consumer = "tests.system.deaf_worker:Deaf"
        return serve(parts, settings, grace_s=settings.grace_s, stalled_after_s=stalled_after_s)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), hears="hears" in sys.argv))
