import multiprocessing as mp


def work(shared, connection):
    shared["key"] = connection.recv() * 2
    connection.close()


if __name__ == "__main__":
    context = mp.get_context("fork")
    with context.Manager() as manager:
        shared = manager.dict()
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(shared, theirs))
        process.start()
        ours.send(21)
        process.join()
        print(dict(shared))
