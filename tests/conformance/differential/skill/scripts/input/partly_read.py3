# stdin: "first\nsecond\n"
import os
import sys
print(os.read(0, 3), sys.stdin.readline())
