import os
import subprocess
reading, writing = os.pipe()
child = subprocess.Popen(["sh", "-c", f"echo through the pipe >&{writing}"], pass_fds=[writing])
os.close(writing)
print(child.wait(), os.read(reading, 100))
