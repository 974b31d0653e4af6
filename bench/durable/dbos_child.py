"""Runs a conversation of no-op steps as a durable workflow, once for each line that it is sent: `latency COUNT` or
`queued COUNT`. It answers with the seconds that they took, one after the other or queued at once.

A program of its own, run as `python dbos_child.py FOLDER TURNS SLOTS` by an interpreter that has the library.
"""

import sys
import time
from importlib.metadata import version

from dbos import DBOS  # type: ignore[import-not-found]

FOLDER, TURNS, SLOTS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ANSWER = "It is 4."
QUEUE = "conversations"
POLL_S = 0.05
"""Its own default, a second, would be all that the queued ones show."""

DBOS(
    config={
        "name": "bench",
        "system_database_url": f"sqlite:///{FOLDER}/dbos.sqlite",
        "console_log_level": "ERROR",
        "log_level": "ERROR",
    }
)


@DBOS.step()  # type: ignore[untyped-decorator]
def ask_model(messages: list[str]) -> str:
    return "call" if len(messages) <= 2 * TURNS else ANSWER


@DBOS.step()  # type: ignore[untyped-decorator]
def run_tool(call: str) -> str:
    return "4"


@DBOS.workflow()  # type: ignore[untyped-decorator]
def converse(prompt: str) -> str:
    messages = [prompt]
    for _ in range(TURNS):
        messages.append(ask_model(messages))
        messages.append(run_tool(messages[-1]))
    return str(ask_model(messages))


def latency(count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        assert converse("What is 2+2?") == ANSWER
    return time.perf_counter() - began


def queued(count: int) -> float:
    began = time.perf_counter()
    handles = [DBOS.enqueue_workflow(QUEUE, converse, "What is 2+2?") for _ in range(count)]
    assert all(handle.get_result(polling_interval_sec=POLL_S) == ANSWER for handle in handles)
    return time.perf_counter() - began


DBOS.launch()
DBOS.register_queue(QUEUE, worker_concurrency=SLOTS, polling_interval_sec=POLL_S)
print("ready", version("dbos"), flush=True)
for line in sys.stdin:
    verb, count = line.split()
    print({"latency": latency, "queued": queued}[verb](int(count)), flush=True)
DBOS.destroy()
