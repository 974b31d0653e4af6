"""Scripts that look for what is not theirs. Each prints what it has got, line by line."""

from tests.conformance.living import MARK

SEES_PROCESSES = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "maps"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                print(pid, name, file.read())
        except OSError:
            continue
print("environment", sorted(os.environ.items()))
"""

KILLS_ALL_IT_CAN = """
import os, sys
if "CapEff:\\t0000000000000000" not in open("/proc/self/status").read():
    sys.exit("it could kill what is not its own")
for number in (2, 15, 10, 17, 9):
    for victim in {os.getppid(), 1, 2, 3, -1 if number == 9 else 1}:
        try:
            if victim != os.getpid():
                os.kill(victim, number)
        except OSError:
            pass
print("still here", flush=True)
"""

READS_MEMORY = """
import os
for pid in {os.getppid(), 1} - {0, os.getpid()}:
    for name in ("environ", "mem"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if name == "mem" or file.read(1):
                    print(pid, name)
        except OSError:
            pass
    try:
        print(pid, [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")])
    except OSError:
        pass
"""

TRIES = """
import os, sys
what, path = sys.argv[1:]
try:
    if what == "read":
        print("got", open(path, "rb").read())
    elif what == "list":
        print("got", os.listdir(path))
    elif what == "write":
        open(path, "a").write("x")
        print("got in")
    elif what == "delete":
        os.unlink(path)
        print("got rid of it")
    elif what == "link":
        os.symlink("/etc", path)
        print("got a link")
except OSError as refused:
    print("refused")
"""

BECOMES_ROOT = """
import os, shutil, subprocess
mine = os.path.join(os.environ["HOME"], "mine")
shutil.copy("/usr/bin/id", mine)
os.chmod(mine, 0o6755)
try:
    told = subprocess.run([mine, "-u"], capture_output=True, text=True).stdout.strip()
except OSError:
    told = str(os.geteuid())
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(told == str(os.geteuid()), int(status["CapEff"], 16), int(status["CapBnd"], 16), status["NoNewPrivs"])
"""

LEAVES_TRACES = """
import ctypes, os, socket, time
for folder in (os.environ["HOME"], "/tmp", "/dev/shm", "/var/tmp", os.environ["SKILLFLEET_OUTPUT_DIR"]):
    try:
        with open(os.path.join(folder, "trace"), "w") as file:
            file.write("left")
    except OSError:
        pass
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0trace")
listener.listen()
ctypes.CDLL(None).shmget(0x7ACE, 4096, 0o1666)
ctypes.CDLL(None).semget(0x7ACE, 1, 0o1666)
ctypes.CDLL(None).msgget(0x7ACE, 0o1666)
ctypes.CDLL(None).mq_open(b"/trace", os.O_CREAT | os.O_RDWR, 0o666, None)
"""

FINDS_TRACES = f"""
import ctypes, os, socket
for name, more in (("shmget", (0, 0)), ("semget", (1, 0)), ("msgget", (0,))):
    if getattr(ctypes.CDLL(None), name)(0x7ACE, *more) >= 0:
        print("by", name)
if ctypes.CDLL(None).mq_open(b"/trace", os.O_RDWR) >= 0:
    print("a message queue")
for folder in (os.environ["HOME"], "/tmp", "/dev/shm", "/var/tmp", os.environ["SKILLFLEET_OUTPUT_DIR"]):
    for at, _, files in os.walk(folder):
        if "trace" in files:
            print("a file in", at)
try:
    socket.socket(socket.AF_UNIX).connect("\\0trace")
    print("a socket")
except OSError:
    pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{{pid}}/comm") as file:
            if file.read().startswith(os.environ["{MARK}"][:8]):
                print("a process")
    except OSError:
        pass
"""
