import atexit


def fails():
    raise ValueError("in atexit")


atexit.register(print, "still said")
atexit.register(fails)
