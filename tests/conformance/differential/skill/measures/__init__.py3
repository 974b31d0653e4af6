"""A package of the skill."""

__all__ = ["SHAPES", "area", "volumes"]

SHAPES = ("square", "cube")


def area(a, b):
    return a * b
