import atexit
atexit.register(print, "said after the traceback was made")
raise RuntimeError("main fails")
