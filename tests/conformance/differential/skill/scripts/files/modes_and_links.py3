import os
from pathlib import Path
os.chdir(os.environ["TMPDIR"])
Path("a").write_text("a")
os.symlink("a", "b")
os.link("a", "c")
os.chmod("a", 0o640)
print(oct(os.stat("b").st_mode), os.stat("a").st_nlink, os.readlink("b"), Path("b").resolve().name)
os.mkfifo("pipe")
print(Path("pipe").is_fifo(), oct(os.lstat("pipe").st_mode & 0o777))
