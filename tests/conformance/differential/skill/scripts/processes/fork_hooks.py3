import os
os.register_at_fork(before=lambda: os.write(1, b"before\n"), after_in_child=lambda: os.write(1, b"child\n"))
if (pid := os.fork()) == 0:
    os._exit(0)
os.waitpid(pid, 0)
os.write(1, b"parent\n")
