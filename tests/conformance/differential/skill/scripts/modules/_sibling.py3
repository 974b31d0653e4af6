import sys
NAME = "sibling"


def who():
    return sys.modules["__main__"].__name__, __name__, __file__
