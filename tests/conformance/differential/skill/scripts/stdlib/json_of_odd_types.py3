import json
from decimal import Decimal
print(json.loads("1.10", parse_float=Decimal), json.dumps({1: (2, 3)}, separators=(",", ":")))
json.dumps({"x": {1, 2}})
