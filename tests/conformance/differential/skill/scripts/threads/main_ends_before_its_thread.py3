import threading
import time


def late():
    while threading.main_thread().is_alive():
        time.sleep(0.001)
    print("the thread ends last")


threading.Thread(target=late).start()
print("main ends")
