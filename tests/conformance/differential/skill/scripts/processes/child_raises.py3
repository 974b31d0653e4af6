import os
import sys
if (pid := os.fork()) == 0:
    raise ValueError("in the child")
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=sys.stderr)
