import multiprocessing as mp
import time
if __name__ == "__main__":
    process = mp.Process(target=time.sleep, args=(60,))
    process.start()
    process.terminate()
    process.join()
    print(process.exitcode, process.is_alive())
