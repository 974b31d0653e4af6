import os
from pathlib import Path
output = Path(os.environ["SKILLFLEET_OUTPUT_DIR"])
(output / "report.txt").write_text("done")
print(output.is_dir(), [file.name for file in output.iterdir()], Path.home() == Path(os.environ["HOME"]))
