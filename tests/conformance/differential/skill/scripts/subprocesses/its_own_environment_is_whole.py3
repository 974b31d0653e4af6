import os
import subprocess
kept = {line.partition("=")[0] for line in subprocess.check_output(["env"], text=True).splitlines()}
print(sorted(set(os.environ) - kept), os.environ["SKILL_NAME"], os.getenv("LANG"))
