import fcntl
import mmap
import os
path = os.path.join(os.environ["TMPDIR"], "mapped")
with open(path, "wb+") as file:
    file.write(b"0" * 4096)
    file.flush()
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with mmap.mmap(file.fileno(), 4096) as mapped:
        mapped[:5] = b"hello"
    file.seek(0)
    print(file.read(6))
