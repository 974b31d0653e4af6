# argv: ["", "a b", "--flag", "☃", "-c", "'quoted'", "*"]
import sys
print(ascii(sys.argv[1:]), len(sys.argv))
