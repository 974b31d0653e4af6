"""Scripts that defeat careless runners. Each tells in files under FOLDER that it lives."""

HELLO = """
import os, sys, time
from pathlib import Path
folder = Path(os.environ["FOLDER"])
def up(name="up"):
    part = folder / f"{name}.part"
    part.write_text(str(os.getpid()))
    part.rename(folder / name)
"""

SLEEPER = HELLO + "print('before', flush=True)\nup()\ntime.sleep(600)\n"

DAEMON = (
    HELLO
    + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        up("daemon")
        time.sleep(600)
    os._exit(0)
while not (folder / "daemon").exists():
    time.sleep(0.001)
print("daemon is up", flush=True)
"""
)

DAEMON_THEN_SLEEP = DAEMON + "up()\ntime.sleep(600)\n"

RABBIT = (
    HELLO
    + """
if os.fork() == 0:
    for hop in range(1_000_000):
        os.setsid()
        if hop == 20:
            up()
        if os.fork():
            os._exit(0)
time.sleep(600)
"""
)

FAMILY = (
    HELLO
    + """
for _ in range(3):
    if os.fork() == 0:
        os.fork()
        time.sleep(600)
"""
    + DAEMON_THEN_SLEEP
)

DEAF = HELLO + "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nup()\ntime.sleep(600)\n"

KILLS_ITS_PARENT = DAEMON + "os.kill(os.getppid(), 9)\ntime.sleep(600)\n"

BOTH_STREAMS = """
import os, threading
def pour(fd):
    block = b"x" * 1_000_000
    for _ in range(200):
        view = memoryview(block)
        while view:
            view = view[os.write(fd, view):]
threads = [threading.Thread(target=pour, args=(fd,)) for fd in (1, 2)]
[t.start() for t in threads]
[t.join() for t in threads]
"""
