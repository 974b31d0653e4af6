import concurrent.futures
import os


def square(number):
    return number * number, os.getpid() != PARENT


PARENT = os.getpid()
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(square, range(4))))
