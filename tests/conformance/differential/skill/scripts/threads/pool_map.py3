from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4, thread_name_prefix="pool") as pool:
    print(list(pool.map(lambda n: n * n, range(10))))
    future = pool.submit(int, "x")
    print(repr(future.exception()))
