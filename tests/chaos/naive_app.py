"""The peer under fire: bench/naive.py's tasks with a model that takes its time. As tutorials write it, or
(CHAOS_CAREFUL) with all that Celery's documentation offers against lost work."""

import os
import socket
import time

from bench.naive import app, run_python
from celery.exceptions import TimeoutError as NoResultError
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

CAREFUL = bool(os.environ.get("CHAOS_CAREFUL"))
RESULT_WITHIN_S = 20.0
VISIBILITY_TIMEOUT_S = 45
"""Above what a conversation takes when nothing is lost. Longer: what is lost comes back later; shorter: more of
what is only slow runs twice."""

app.conf.task_routes = {"tests.chaos.naive_app.converse": "conversations", "bench.naive.run_python": "tools"}
app.conf.broker_connection_retry_on_startup = True
if CAREFUL:
    transport = {"visibility_timeout": VISIBILITY_TIMEOUT_S, "socket_keepalive": True, "health_check_interval": 10}
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_transport_options=transport,
        result_backend_transport_options=transport,
    )

ABOUT_A_LOST_RESULT = (NoResultError, OperationalError, RedisError) if CAREFUL else ()


@app.task(autoretry_for=ABOUT_A_LOST_RESULT, max_retries=20, default_retry_delay=1)
def converse(name: str, scripts: list[str], model_s: float, port: int) -> str:
    said = []
    for script in scripts:
        time.sleep(model_s)
        result = run_python.delay(script).get(
            disable_sync_subtasks=False, timeout=RESULT_WITHIN_S if CAREFUL else None
        )
        said.append(result["stdout"].strip())
    time.sleep(model_s)
    answer = "-".join(said)
    with socket.create_connection(("127.0.0.1", port)) as roll:
        roll.sendall(f"answer {name} {answer}\n".encode())
    return answer
