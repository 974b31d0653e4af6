import tracemalloc
print(tracemalloc.is_tracing())
tracemalloc.start()
block = bytearray(100_000)
top = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)]).statistics("lineno")[0]
print(top.traceback[0].lineno, top.size >= 100_000)
