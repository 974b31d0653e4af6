import runpy
import sys
from pathlib import Path
here = Path(sys.modules["__main__"].__file__)
other = Path("data/other.py")
result = runpy.run_path(str(other), init_globals={"given": 3}, run_name="other")
print(result["seen"], sys.modules["__main__"].__file__ == str(here), __name__)
