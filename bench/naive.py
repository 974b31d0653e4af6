"""The peer: the conversation loop as a blocking Celery task, the way tutorials write it."""

import os
import subprocess
from typing import Any

from celery import Celery

INTERPRETER = os.environ.get("BENCH_INTERPRETER", "python3")

app = Celery("naive", broker=os.environ.get("BENCH_BROKER"), backend=os.environ.get("BENCH_RESULTS"))
# Two queues: a conversation that waits for its own pool would wait for ever.
app.conf.task_routes = {"bench.naive.converse": "conversations", "bench.naive.run_python": "tools"}


@app.task
def run_python(script: str) -> dict[str, Any]:
    done = subprocess.run([INTERPRETER, "-c", script], capture_output=True, text=True, timeout=30)
    return {"stdout": done.stdout, "stderr": done.stderr, "returncode": done.returncode}


@app.task
def converse(prompt: str, scripts: list[str], answer: str) -> str:
    """`scripts` and `answer` are what a model would say, at once."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for script in scripts:
        messages.append({"role": "assistant", "tool_calls": [{"name": "run_python", "arguments": script}]})
        result = run_python.delay(script).get(disable_sync_subtasks=False)
        messages.append({"role": "tool", "content": result["stdout"]})
    return answer
