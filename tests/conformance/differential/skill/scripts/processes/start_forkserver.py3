import multiprocessing as mp


def double(number):
    return 2 * number


if __name__ == "__main__":
    with mp.get_context("forkserver").Pool(2) as pool:
        print(pool.map(double, range(5)))
