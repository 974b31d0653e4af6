# stdin: "one\r\ntwo\n\nlast without an end"
import sys
for number, line in enumerate(sys.stdin):
    print(number, repr(line))
