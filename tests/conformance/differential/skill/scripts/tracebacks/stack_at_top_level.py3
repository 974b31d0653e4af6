import traceback


def inside():
    traceback.print_stack()


traceback.print_stack()
inside()
print(len(traceback.extract_stack()))
