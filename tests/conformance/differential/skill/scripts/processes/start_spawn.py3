import multiprocessing as mp


class Point:
    def __init__(self, x):
        self.x = x


def work(queue, point):
    queue.put((__name__, type(point).__module__, point.x))


if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue, Point(4)))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode)
