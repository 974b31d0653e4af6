import os
import sys
sys.stdout.reconfigure(line_buffering=True)
print("one")
os.write(1, b"two\n")
print("three", end="")
os.write(1, b" before three\n")
