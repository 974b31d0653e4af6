import builtins
import json
import os
json.dumps = lambda *_: "patched"
builtins.len = lambda _: -1
os.environ["LEFT"] = "behind"
print(json.dumps({}), len([1]))
