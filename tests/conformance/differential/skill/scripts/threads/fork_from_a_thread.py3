import os
import threading


def forks():
    if (pid := os.fork()) == 0:
        os.write(1, f"child of {threading.current_thread().name}, {threading.active_count()}\n".encode())
        os._exit(0)
    print(os.waitpid(pid, 0)[1])


thread = threading.Thread(target=forks, name="forker")
thread.start()
thread.join()
