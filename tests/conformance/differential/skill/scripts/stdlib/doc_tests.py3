"""
>>> double(2)
4
>>> double("a")
'bb'
"""
import doctest


def double(x):
    """
    >>> double(1)
    2
    >>> double(None)
    Traceback (most recent call last):
        ...
    TypeError: unsupported operand type(s) for *: 'int' and 'NoneType'
    """
    return 2 * x


print(doctest.testmod())
