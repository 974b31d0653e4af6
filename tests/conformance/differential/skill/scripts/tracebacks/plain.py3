def outer(number):
    return inner(number) + 1


def inner(number):
    return number / 0


outer(1)
