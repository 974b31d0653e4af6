import os
import warnings
warnings.simplefilter("always")
open(os.path.join(os.environ["TMPDIR"], "left"), "w").write("never flushed by hand")
print(open(os.path.join(os.environ["TMPDIR"], "left")).read())
