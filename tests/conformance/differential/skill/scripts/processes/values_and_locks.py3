import multiprocessing as mp


def add(counter, lock):
    for _ in range(50):
        with lock:
            counter.value += 1


if __name__ == "__main__":
    counter, lock = mp.Value("i", 0, lock=False), mp.Lock()
    workers = [mp.Process(target=add, args=(counter, lock)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(counter.value)
