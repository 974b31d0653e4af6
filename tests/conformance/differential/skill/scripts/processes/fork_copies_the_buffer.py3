import os
print("twice, as the buffer is copied")
if pid := os.fork():
    os.waitpid(pid, 0)
