import os
import sys
print("before the fork", flush=True)
if (pid := os.fork()) == 0:
    print("child")
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
