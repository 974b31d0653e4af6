"""Scripts that take more than they may. Each would end by itself where nothing holds it."""

MB = 1 << 20

BIG_BLOCK = f"block = b'x' * (400 * {MB})\nprint('held', len(block))"

MEMORY_FILE = f"""
import os
file = os.memfd_create("bomb")
for _ in range(400):
    os.write(file, b"x" * {MB})
print("held")
"""

CHILDREN_DIE_MAIN_DOES_NOT = f"""
import os, signal, time
children = []
for _ in range(4):
    if (pid := os.fork()) == 0:
        block = b"x" * (150 * {MB})
        time.sleep(10)
        os._exit(0)
    children.append(pid)
first, status = os.wait()
print("a child was killed" if os.WIFSIGNALED(status) else "no child was killed", flush=True)
for pid in children:
    if pid != first:
        os.kill(pid, signal.SIGKILL)
os._exit(0)
"""

SHARED_MEMORY = f"""
try:
    with open("/dev/shm/bomb", "wb") as file:
        for _ in range(400):
            file.write(b"x" * {MB})
    print("held")
except OSError as full:
    print(full.strerror)
"""

FORKS = """
import os, sys, time
born = 0
try:
    while born < int(sys.argv[1]):
        if os.fork() == 0:
            time.sleep(600)
        born += 1
except OSError:
    pass
print(born)
"""

THREADS = """
import threading
started = 0
def stay():
    threading.Event().wait()
try:
    while started < 300:
        threading.Thread(target=stay, daemon=True).start()
        started += 1
except RuntimeError:
    pass
print(started)
"""

FILES = f"""
import os, sys
written = 0
count, *folders = sys.argv[1:]
for folder in folders:
    folder = os.environ.get(folder, folder)
    try:
        for number in range(int(count)):
            with open(os.path.join(folder, f"file-{{number}}"), "wb", buffering=0) as file:
                for _ in range(10):
                    written += file.write(b"x" * {MB})
    except OSError:
        pass
print(written // {MB})
"""

MANY_SMALL_FILES = """
import os
made = 0
try:
    while made < 200_000:
        with open(os.path.join(os.environ["HOME"], str(made)), "w") as file:
            file.write("x")
        made += 1
except OSError:
    pass
print(made)
"""
