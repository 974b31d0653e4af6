"""Takes an object."""

import json
import sys

print(json.dumps({"grasped": json.load(sys.stdin)["object_id"] == "cup"}))
