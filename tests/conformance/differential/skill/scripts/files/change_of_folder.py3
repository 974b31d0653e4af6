import os
from pathlib import Path
os.chdir(os.environ["TMPDIR"])
Path("here").mkdir()
os.chdir("here")
print(Path.cwd().name, Path("..").resolve() == Path(os.environ["TMPDIR"]).resolve())
raise ValueError("the traceback still finds its source")
