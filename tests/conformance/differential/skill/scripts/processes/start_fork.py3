import multiprocessing as mp


def work(queue):
    queue.put(mp.current_process().name)


if __name__ == "__main__":
    context = mp.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode, mp.get_start_method())
