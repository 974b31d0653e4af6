import concurrent.futures
import os
import signal


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        print(repr(pool.submit(dies).exception()))
