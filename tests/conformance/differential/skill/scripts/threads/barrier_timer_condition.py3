import threading
barrier = threading.Barrier(2, action=lambda: print("both are here"))
timer = threading.Timer(0.01, barrier.wait)
timer.start()
barrier.wait()
timer.join()
condition = threading.Condition()
with condition:
    print(condition.wait(timeout=0.01))
print(barrier.broken, barrier.parties)
