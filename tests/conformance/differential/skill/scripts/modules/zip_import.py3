import os
import sys
import zipfile
archive = os.path.join(os.environ["TMPDIR"], "packed.zip")
with zipfile.ZipFile(archive, "w") as packed:
    packed.writestr("packed_module.py", "def value():\n    return __loader__.__class__.__name__\n")
sys.path.append(archive)
import packed_module
print(packed_module.value())
