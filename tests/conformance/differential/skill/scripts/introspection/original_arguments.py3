# argv: ["one", "-v"]
import sys
print(sys.orig_argv[1:], sys.orig_argv[0] == sys.executable)
