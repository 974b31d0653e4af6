"""How deeply JSON is nested (pure)."""

MOST_DEPTH = 100
"""Of objects and lists in one another, in what models and scripts write: what is read again may be nested about 200
deep, with all that is put around it."""


def deeper(value: object, most: int = MOST_DEPTH) -> bool:
    level = [value]
    for _ in range(most):
        inner = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list | tuple)
        )
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True
