import subprocess
try:
    subprocess.run(["sleep", "30"], timeout=0.05)
except subprocess.TimeoutExpired as late:
    print(late.cmd, late.output, "%.1f" % late.timeout)
