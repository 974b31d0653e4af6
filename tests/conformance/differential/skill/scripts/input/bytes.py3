# stdin: "a\u0000b☃\n"
import sys
data = sys.stdin.buffer.read()
print(data, len(data))
