import sys


class Noisy:
    def __del__(self):
        raise ValueError("in __del__")


sys.unraisablehook = lambda told: print("hook:", told.exc_value, told.err_msg)
Noisy()
