import os
import subprocess
import sys
code = "import os; print(os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid())"
print(subprocess.check_output([sys.executable, "-c", code], start_new_session=True, text=True))
print(os.getsid(0) > 0)
