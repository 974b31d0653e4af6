import atexit
import os
import sys
atexit.register(print, "never said")
sys.stdout.write("lost in the buffer")
os.write(1, b"written past the buffer\n")
os._exit(9)
