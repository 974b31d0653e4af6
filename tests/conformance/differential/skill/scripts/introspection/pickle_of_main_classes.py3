import dataclasses
import pickle
import sys


@dataclasses.dataclass
class Point:
    x: int


class Plain:
    pass


def function():
    return 1


data = pickle.dumps([Point(1), Point, function])
point, kind, again = pickle.loads(data)
print(point, kind is Point, again is function, Point.__module__, b"__main__" in data)
print(Plain, repr(Plain()).partition(" at ")[0], sys.modules[Plain.__module__].__file__ == __file__)
