import multiprocessing as mp
import time
if __name__ == "__main__":
    mp.Process(target=time.sleep, args=(60,), daemon=True).start()
    print("main ends, and its daemon with it")
