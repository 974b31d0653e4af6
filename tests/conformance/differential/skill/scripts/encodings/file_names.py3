import os
from pathlib import Path
folder = Path(os.environ["TMPDIR"], "names")
folder.mkdir()
(folder / "ä☃").write_text("x")
with open(os.fsencode(folder) + b"/\xff\xfe", "w") as odd:
    odd.write("y")
print(sorted(map(ascii, os.listdir(folder))), sorted(os.listdir(os.fsencode(folder))))
