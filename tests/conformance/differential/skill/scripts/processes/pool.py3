import multiprocessing as mp


def invert(number):
    return 1 / number


if __name__ == "__main__":
    with mp.Pool(2) as pool:
        print(pool.map(invert, [1, 2, 4]))
        try:
            pool.map(invert, [1, 0])
        except ZeroDivisionError as wrong:
            print("from the pool:", wrong, type(wrong.__cause__).__name__)
        print(pool.starmap(pow, [(2, 3), (3, 2)]), pool.apply_async(invert, (5,)).get())
