"""The peer: the same shapes as a Celery canvas, as its guide writes them. Each task notes that it came to its end."""

import os
import subprocess
from typing import Any

import redis
from celery import Celery

INTERPRETER = os.environ.get("BENCH_INTERPRETER", "python3")
LATE = os.environ.get("BENCH_ACKS_LATE") == "1"

app = Celery("canvas", broker=os.environ.get("BENCH_BROKER"), backend=os.environ.get("BENCH_RESULTS"))
app.conf.update(task_acks_late=LATE, task_reject_on_worker_lost=LATE, result_chord_join_timeout=60)
done = redis.Redis.from_url(os.environ.get("BENCH_NOTES", "redis://localhost"))


@app.task(bind=True)
def bare(self: Any, run: str, name: str) -> int:
    """Does nothing."""
    done.hincrby(run, name, 1)
    return 0


@app.task(bind=True)
def script(self: Any, run: str, name: str) -> int:
    """Runs a script that does nothing."""
    code = subprocess.run([INTERPRETER, "-c", "pass"], capture_output=True, timeout=30).returncode
    done.hincrby(run, name, 1)
    return code


@app.task
def joined(codes: list[int]) -> int:
    return sum(codes)
