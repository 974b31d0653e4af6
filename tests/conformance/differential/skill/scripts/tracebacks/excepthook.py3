import sys


def hook(kind, wrong, trace):
    print("hook:", kind.__name__, wrong, trace.tb_lineno, trace.tb_next)


sys.excepthook = hook
raise ValueError("told by the hook")
