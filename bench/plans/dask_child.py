"""Runs shapes of tasks that do nothing on a cluster of worker processes, once for each line `SHAPE COUNT` that it is
sent, and answers with the seconds that they took.

A program of its own, run as `python dask_child.py SLOTS` by an interpreter that has the library.
"""

import sys
import time
from importlib.metadata import version

from distributed import Client, LocalCluster  # type: ignore[import-not-found]


def nothing(*before: object) -> int:
    return 0


def joined(codes: list[int]) -> int:
    return sum(codes)


def measure(client: "Client", shape: str, count: int) -> float:
    began = time.perf_counter()
    if shape == "chain":
        last = client.submit(nothing, pure=False)
        for _ in range(count - 1):
            last = client.submit(nothing, last, pure=False)
    else:
        last = client.submit(joined, [client.submit(nothing, pure=False) for _ in range(count)], pure=False)
    assert last.result() == 0
    return time.perf_counter() - began


def main() -> None:
    cluster = LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, Client(cluster) as client:
        measure(client, "chain", 5)
        print("ready", version("distributed"), flush=True)
        for line in sys.stdin:
            shape, count = line.split()
            print(measure(client, shape, int(count)), flush=True)


if __name__ == "__main__":
    main()
