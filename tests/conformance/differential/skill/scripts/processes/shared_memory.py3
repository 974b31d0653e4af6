import multiprocessing as mp
from multiprocessing import shared_memory


def write(name):
    there = shared_memory.SharedMemory(name)
    there.buf[:5] = b"hello"
    there.close()


if __name__ == "__main__":
    memory = shared_memory.SharedMemory(create=True, size=100)
    process = mp.Process(target=write, args=(memory.name,))
    process.start()
    process.join()
    print(bytes(memory.buf[:5]), process.exitcode)
    memory.close()
    memory.unlink()
