import glob
from pathlib import Path
print(sorted(glob.glob("data/*.txt")), sorted(path.name for path in Path("measures").rglob("*.txt")))
print(Path("a/../b/./c"), Path("/a").joinpath("/b"), Path("x.tar.gz").suffixes, Path("a/b").relative_to("a"))
