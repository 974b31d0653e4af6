import multiprocessing as mp


def fails():
    raise ValueError("in a process")


if __name__ == "__main__":
    process = mp.get_context("fork").Process(target=fails, name="failing")
    process.start()
    process.join()
    print(process.exitcode)
