import queue
import threading
numbers, total = queue.Queue(), []
lock = threading.RLock()


def add():
    while (number := numbers.get()) is not None:
        with lock, lock:
            total.append(number)


threads = [threading.Thread(target=add) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(100):
    numbers.put(number)
for _ in threads:
    numbers.put(None)
for thread in threads:
    thread.join()
print(sum(total))
