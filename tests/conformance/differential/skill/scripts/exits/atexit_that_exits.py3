import atexit
import sys
atexit.register(print, "still said")
atexit.register(sys.exit, 5)
