from contextlib import ExitStack, contextmanager


@contextmanager
def step(name):
    print("enter", name)
    try:
        yield
    finally:
        print("leave", name)


with ExitStack() as stack:
    stack.enter_context(step("a"))
    stack.enter_context(step("b"))
    stack.callback(print, "callback")
    raise LookupError("inside")
