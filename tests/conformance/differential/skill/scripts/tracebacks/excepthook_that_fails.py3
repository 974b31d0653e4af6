import sys


def hook(*_):
    raise TypeError("in the hook")


sys.excepthook = hook
raise ValueError("the original")
