import inspect


def documented(a, b=2, *rest, key=None):
    """What it does."""
    return a


print(inspect.getsource(documented), inspect.signature(documented), inspect.getdoc(documented))
print(inspect.getsource(inspect.getmodule(documented)).count("\n"))
