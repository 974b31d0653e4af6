from .. import area
from ..volumes import cuboid

DEPTH = __name__.count(".")


def outer_area():
    return area(2, 2), cuboid(1, 1, 1), __package__
