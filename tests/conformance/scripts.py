"""Scripts that defeat careless runners. Each tells by its processes' names, which every host can see, who lives."""

from tests.conformance.living import MARK, NAME_LENGTH

PR_SET_NAME = 15
"""Where /proc/self/comm may be closed to the script itself."""

HELLO = f"""
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
def up(role="up"):
    name = os.environ["{MARK}"][:{NAME_LENGTH}] + ":" + role
    libc.prctl({PR_SET_NAME}, name.encode(), 0, 0, 0)
"""

SLEEPER = HELLO + "print('before', flush=True)\nup()\ntime.sleep(600)\n"

DAEMON = (
    HELLO
    + """
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        up("daemon")
        os.write(writing, b"x")
        time.sleep(600)
    os._exit(0)
os.read(reading, 1)
print("daemon is up", flush=True)
"""
)

DAEMON_THEN_SLEEP = DAEMON + "up()\ntime.sleep(600)\n"

RABBIT = (
    HELLO
    + """
reading, writing = os.pipe()
if os.fork() == 0:
    up("rabbit")
    for hop in range(1_000_000):
        os.setsid()
        if hop == 20:
            os.write(writing, b"x")
        if os.fork():
            os._exit(0)
os.read(reading, 1)
up()
time.sleep(600)
"""
)
"""It hops faster than one look at all processes takes: the one that sleeps tells that it lives."""

FAMILY = (
    HELLO
    + """
for _ in range(3):
    if os.fork() == 0:
        os.fork()
        up("child")
        time.sleep(600)
"""
    + DAEMON_THEN_SLEEP
)
"""Eight processes."""

DEAF = (
    HELLO
    + """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGTERM)
print("deaf", flush=True)
up()
time.sleep(600)
"""
)

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

ODD_NAME = """
import ctypes, os, time
ready, telling = os.pipe()
if not os.fork():
    ctypes.CDLL(None).prctl(15, b"a\\rb:\\n", 0, 0, 0)
    os.write(telling, b"+")
    time.sleep(60)
os.read(ready, 1)
"""
