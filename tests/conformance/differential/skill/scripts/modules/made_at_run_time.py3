import os
import sys
from pathlib import Path
folder = Path(os.environ["TMPDIR"], "made")
folder.mkdir()
(folder / "made_module.py").write_text("value = 42\nprint('imported', __name__)\n")
sys.path.insert(0, str(folder))
import made_module
print(made_module.value, made_module.__file__.endswith("made/made_module.py"))
