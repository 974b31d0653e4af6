import os
from pathlib import Path
print(Path("data/words.txt").read_text().split(), os.path.exists("missing"), Path.cwd() == Path(os.getcwd()))
print(sorted(entry.name for entry in os.scandir("data")))
