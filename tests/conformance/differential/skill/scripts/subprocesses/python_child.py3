import os
import subprocess
import sys
code = "import sys, os; print(sys.argv, sys.path[0] == '', sys.flags.isolated, os.environ.get('GIVEN'))"
os.environ["GIVEN"] = "to children"
print(subprocess.check_output([sys.executable, "-c", code, "a b"], text=True))
