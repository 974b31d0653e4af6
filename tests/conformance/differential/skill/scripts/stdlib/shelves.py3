import os
import shelve
with shelve.open(os.path.join(os.environ["TMPDIR"], "shelf")) as shelf:
    shelf["key"] = {"value": [1, 2]}
    print(dict(shelf))
