import sys


def inner():
    return 1


def trace(frame, event, argument):
    print(event, frame.f_code.co_name, frame.f_lineno)
    return trace


print(sys.gettrace(), sys.getprofile())
sys.settrace(trace)
inner()
sys.settrace(None)
