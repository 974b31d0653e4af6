import subprocess
subprocess.run(["no-such-program-anywhere"])
