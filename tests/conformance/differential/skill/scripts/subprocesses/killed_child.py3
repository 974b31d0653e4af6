import signal
import subprocess
child = subprocess.Popen(["sleep", "60"])
child.send_signal(signal.SIGTERM)
print(child.wait(), child)
