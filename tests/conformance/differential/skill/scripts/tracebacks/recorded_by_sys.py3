import sys
try:
    1 / 0
except ZeroDivisionError:
    kind, wrong, trace = sys.exc_info()
    print(kind.__name__, wrong, trace.tb_lineno)
print(sys.exc_info(), hasattr(sys, "last_value"))
