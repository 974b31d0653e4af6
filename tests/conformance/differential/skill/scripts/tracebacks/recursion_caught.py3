import sys


def depth(reached=1):
    try:
        return depth(reached + 1)
    except RecursionError:
        return reached


print(sys.getrecursionlimit() - depth())
