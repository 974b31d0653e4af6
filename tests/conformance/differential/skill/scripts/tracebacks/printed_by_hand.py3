import sys
import traceback


def fails():
    raise ValueError("by hand")


try:
    fails()
except ValueError:
    traceback.print_exc()
    traceback.print_exc(file=sys.stdout, limit=1)
    print(traceback.format_exc().splitlines()[-1])
