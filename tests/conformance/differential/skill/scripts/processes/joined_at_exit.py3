import multiprocessing as mp


def work():
    print("the child's line", flush=True)


if __name__ == "__main__":
    print("main ends", flush=True)
    mp.Process(target=work).start()
