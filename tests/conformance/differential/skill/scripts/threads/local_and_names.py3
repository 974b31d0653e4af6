import threading
local = threading.local()
local.value = "main"


def look():
    print(threading.current_thread().name, hasattr(local, "value"))


for _ in range(2):
    (thread := threading.Thread(target=look)).start()
    thread.join()
print(threading.current_thread().name, local.value, threading.active_count())
